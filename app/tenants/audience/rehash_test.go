package audience_test

import (
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// typedHash returns the hash that versions before 0.4.0 made of an address as typed.
func typedHash(w *testserver.Server, address string) app.AddressHash {
	sum := w.Config.Sealer.AppendHash(nil, "addresses", []byte(w.Key.TeamID+"\x00"+address))
	return app.AddressHash(sum)
}

// TestRehashSuppressionsAtStart starts with a database of the previous version, in which bounces at
// domains with U-labels have the wrong hash.
func TestRehashSuppressionsAtStart(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		put := func(email string, hash app.AddressHash, origin app.SuppressionOrigin) {
			s := app.Suppression{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, Hash: hash, Origin: origin, SourceID: "source of " + string(origin), CreatedAt: time.Now()}
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { _, err := tx.AddSuppression(s); return err }))
		}
		put("ann@bücher.example", typedHash(w, "ann@bücher.example"), app.OriginBounce)
		put("bob@grün.example", typedHash(w, "bob@grün.example"), app.OriginComplaint)
		put("bob@grün.example", w.AddressHash("bob@grün.example"), app.OriginUnsubscribe)
		put("carl@blau-ö.example", typedHash(w, "carl@blau-ö.example"), app.OriginBounce)
		put("carl@blau-ö.example", w.AddressHash("carl@blau-ö.example"), app.OriginManual)
		put("dora@shop.example", w.AddressHash("dora@shop.example"), app.OriginBounce)
		if s := w.Suppression("ann@bücher.example"); s.ID != "" {
			t.Fatalf("the test's database is no old one: %+v", s)
		}
		w.Start()
		for address, want := range map[string]app.SuppressionOrigin{
			"ann@bücher.example": app.OriginBounce, "Ann@xn--bcher-kva.example": app.OriginBounce, "bob@grün.example": app.OriginComplaint,
			"carl@BLAU-Ö.example": app.OriginBounce, "dora@shop.example": app.OriginBounce,
		} {
			if s := w.Suppression(address); s.Origin != want || s.SourceID != "source of "+string(want) {
				t.Errorf("%s: %+v, want %s", address, s, want)
			}
		}
		if n := w.Count("suppressions"); n != "4" {
			t.Errorf("%s suppressions, want 4", n)
		}
	})
}
