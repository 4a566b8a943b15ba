//go:build long

package liquid

import (
	"math/rand/v2"
	"testing"
)

// TestLongHostileValues runs the fixed documents with a million hostile sets of values together, and
// a million random documents.
func TestLongHostileValues(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for _, source := range fixedDocuments {
		d, err := newTrial(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for range 1_000_000 / len(fixedDocuments) {
			d.check(t, r)
		}
	}
	randomDocuments(t, 5, 1_000_000)
}
