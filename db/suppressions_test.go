package db

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/db/dbtest"
)

// suppressionStore returns a store with a team and n suppressions of u0@example.org and so
// on. Every third one is a bounce.
func suppressionStore(t testing.TB, n int) (*DB, app.Team) {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: dbtest.Schema(t), Lazy: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	var team app.Team
	err = d.Write(t.Context(), func(tx *Tx) (err error) {
		if team, err = tx.FindTeam(""); err != nil {
			return err
		}
		for i := range n {
			origin := app.OriginManual
			if i%3 == 0 {
				origin = app.OriginBounce
			}
			address := fmt.Sprintf("u%d@example.org", i)
			if _, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: address, Hash: hashOf(address), Origin: origin, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, team
}

// hashOf returns an address hash for tests that need no key.
func hashOf(address string) app.AddressHash {
	sum := sha256.Sum256([]byte(address))
	return app.AddressHash(sum[:16])
}

func TestSuppressionsOfManyAddresses(t *testing.T) {
	d, team := suppressionStore(t, 100)
	for _, c := range []struct{ n, hits int }{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {5, 3}, {6, 3}, {49, 25}, {50, 25}, {51, 26}, {120, 50}} {
		var addresses []app.AddressHash
		for i := range c.n { // every other one is unknown
			addresses = append(addresses, hashOf(fmt.Sprintf("u%d@example.%s", i, []string{"org", "net"}[i%2])))
		}
		err := d.Read(t.Context(), func(r *Reader) error {
			found, err := r.Suppressions(team.ID, addresses)
			if len(found) != c.hits {
				t.Errorf("%d of %d addresses found, want %d", len(found), c.n, c.hits)
			}
			foreign, err2 := r.Suppressions(app.NewID(), addresses)
			if len(foreign) != 0 {
				t.Error("another team finds suppressions")
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownSuppressionOriginIsRefused(t *testing.T) {
	d, team := suppressionStore(t, 0)
	err := d.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: team.ID, Email: "a@b.c", Hash: hashOf("a@b.c"), Origin: "spam", CreatedAt: tx.Now})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "CHECK") {
		t.Error(err)
	}
}

// BenchmarkSuppressions measures the look-up for sends to 1, 3 and 50 recipients, none of
// them among 100,000 suppressions.
func BenchmarkSuppressions(b *testing.B) {
	d, team := suppressionStore(b, 100_000)
	for _, n := range []int{1, 3, 50} {
		var addresses []app.AddressHash
		for i := range n {
			addresses = append(addresses, hashOf(fmt.Sprintf("u%d@example.net", i)))
		}
		b.Run(fmt.Sprint("recipients=", n), func(b *testing.B) {
			err := d.Write(b.Context(), func(tx *Tx) error {
				for b.Loop() {
					if found, err := tx.Suppressions(team.ID, addresses); err != nil || len(found) > 0 {
						return fmt.Errorf("found %d: %w", len(found), err)
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
