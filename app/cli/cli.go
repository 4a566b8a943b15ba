// Package cli implements the operator's commands: flags with environment variables, and lists as
// tables and JSON.
//
// Failure policy: commands return every error, and print nothing partially.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Row is an entry of a list: its JSON object and its cells.
type Row struct {
	Object any
	Cells  []string
}

// Table is a list with column heads.
type Table struct {
	Head []string
	Rows []Row
}

// Print writes a table, or with asJSON one object {object: "list", data}.
func Print(w io.Writer, asJSON bool, t Table) error {
	if asJSON {
		data := make([]any, 0, len(t.Rows))
		for _, row := range t.Rows {
			data = append(data, row.Object)
		}
		return PrintJSON(w, map[string]any{"object": "list", "data": data})
	}
	return t.write(w, colourful(w))
}

// PrintJSON writes v, indented, and a line end.
func PrintJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ErrorText returns an error's text for a person: an *app.Error without its code.
func ErrorText(err error) string {
	var e *app.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
