package engine

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestPostgresReplacesInvalidText binds texts of third parties, which may contain any bytes.
func TestPostgresReplacesInvalidText(t *testing.T) {
	t.Parallel()
	type words string
	latin := "caf\xe9"
	conn, err := pgx.Connect(t.Context(), newRemote(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, tc := range []struct {
		arg  any
		want string
	}{
		{"plain é", "plain é"},
		{"a\x00b", "a\uFFFDb"},
		{latin, "caf\uFFFD"},
		{&latin, "caf\uFFFD"},
		{sql.NullString{String: latin, Valid: true}, "caf\uFFFD"},
		{words("\xff\x00"), "\uFFFD\uFFFD"},
	} {
		var got string
		if err := conn.QueryRow(t.Context(), `SELECT CAST($1 AS text)`, (&postgresEngine{}).bind([]any{tc.arg})...).Scan(&got); err != nil || got != tc.want {
			t.Errorf("%q is kept as %q, %v", tc.arg, got, err)
		}
	}
	if latin != "caf\xe9" {
		t.Errorf("the caller's own became %q", latin)
	}
	var nothing *string
	if got := (&postgresEngine{}).bind([]any{nothing}); got[0] != any(nothing) {
		t.Errorf("no text became %v", got[0])
	}
	// The control: PostgreSQL refuses the texts without bind.
	for _, text := range []string{"a\x00b", latin} {
		if err := conn.QueryRow(t.Context(), `SELECT CAST($1 AS text)`, text).Scan(new(string)); err == nil || !strings.Contains(err.Error(), "22021") {
			t.Errorf("%q is taken: %v", text, err)
		}
	}
}
