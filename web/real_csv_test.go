package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
)

func TestSpeedX(t *testing.T) {
	r := newReal(t, captured())
	const n = 20000
	ctx := context.Background()
	for i := 0; i < n; i += 1000 {
		if err := r.store.Write(ctx, func(tx *db.Tx) error {
			for k := range 1000 {
				_ = k
				c := app.Contact{Hash: app.AddressHash{byte(i >> 24), byte((i + k) >> 16), byte((i + k) >> 8), byte(i + k)}, ID: app.NewID(), TeamID: r.team.ID, Email: fmt.Sprintf("u%d@example.org", i+k), FirstName: "=cmd", CreatedAt: time.Now()}
				if err := tx.InsertContact(&c); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	req := httptest.NewRequest("GET", "/contacts", nil)
	req.Header.Set("Authorization", "Bearer "+r.full)
	req.Header.Set("Accept", "text/csv")
	w := httptest.NewRecorder()
	start := time.Now()
	r.handler.ServeHTTP(w, req)
	el := time.Since(start)
	t.Log(w.Code, w.Header(), w.Body.Len(), el, float64(n)/el.Seconds())
	t.Log(w.Body.String()[:500])
	_ = http.MethodGet
}
