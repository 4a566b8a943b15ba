package app

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPropertyKeysAndValues(t *testing.T) {
	many := PropertyChanges{}
	for i := range 101 {
		many[fmt.Sprint("k", i)] = nil
	}
	wantInvalidField(t, "101 keys", many.Validate(), "properties")
	delete(many, "k100")
	many["k0"], many["k1"], many["k2"] = propText(strings.Repeat("漢", 1000)), propNumber(-1.5e300), propText("")
	many["k3"] = propText("line\nbreak")
	if err := many.Validate(); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"a", "A_9", "_", strings.Repeat("k", 200)} {
		if err := (PropertyChanges{key: propText("x")}).Validate(); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range []string{"", "a b", "a.b", "a-b", "é", "a\x00", "a\n", "a`", strings.Repeat("k", 201)} {
		wantInvalidField(t, key, PropertyChanges{key: propText("x")}.Validate(), "properties")
	}
	for _, v := range []*PropertyValue{propText(strings.Repeat("x", 1001)), propText("a\x00"), propText("a\xff"), propNumber(math.NaN()), propNumber(math.Inf(1)), propNumber(math.Inf(-1))} {
		wantInvalidField(t, fmt.Sprint(*v), PropertyChanges{"k": v}.Validate(), "properties.k")
	}
}

func TestPropertyTypeMustMatch(t *testing.T) {
	declared := map[string]PropertyType{"n": NumberProperty, "s": StringProperty}
	if err := (PropertyChanges{"n": propNumber(1), "s": propText("1"), "other": propNumber(1)}).Fits(declared); err != nil {
		t.Error(err)
	}
	if err := (PropertyChanges{"n": nil, "s": nil}).Fits(declared); err != nil {
		t.Error(err)
	}
	wantInvalidField(t, "number", PropertyChanges{"n": propText("1")}.Fits(declared), "properties.n")
	wantInvalidField(t, "string", PropertyChanges{"s": propNumber(1)}.Fits(declared), "properties.s")
}

// randomChanges sets and removes about n of 160 keys, so that some contacts reach the limit.
func randomChanges(r *rand.Rand, n int) PropertyChanges {
	out := PropertyChanges{}
	for range n {
		key := fmt.Sprint("k", r.IntN(160))
		switch r.IntN(4) {
		case 0:
			out[key] = nil
		case 1:
			out[key] = propNumber(r.NormFloat64())
		default:
			out[key] = propText(fmt.Sprint(r.IntN(10)))
		}
	}
	return out
}

// model is a second implementation of Apply.
func model(old Properties, c PropertyChanges) Properties {
	out := Properties{}
	for i := range 160 {
		key := fmt.Sprint("k", i)
		v, kept := old[key]
		if p, changed := c[key]; changed {
			kept = p != nil
			if kept {
				v = *p
			}
		}
		if kept {
			out[key] = v
		}
	}
	return out
}

func TestPropertyChangesApply(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := randomChanges(r, r.IntN(130)), randomChanges(r, r.IntN(130))
		old, err := a.Apply(nil)
		if (err != nil) != (len(model(nil, a)) > MaxProperties) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err != nil {
			wantInvalidField(t, "too many", err, "properties")
			continue
		}
		before := maps.Clone(old)
		want := model(old, b)
		got, err := b.Apply(old)
		switch {
		case !maps.Equal(old, before):
			t.Fatalf("seed %d: the old ones changed", seed)
		case (err != nil) != (len(want) > MaxProperties):
			t.Fatalf("seed %d: %d keys and %v", seed, len(want), err)
		case err != nil:
			continue
		case !maps.Equal(got, want), len(got) == 0 && got != nil:
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		if again, err := b.Apply(got); err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("seed %d: applied twice it gives something else", seed)
		}
		folded := NewContact{Changes: a}
		folded.Fold(&NewContact{Changes: b})
		if at, err := folded.Changes.Apply(nil); err != nil || !maps.Equal(at, got) {
			t.Fatalf("seed %d: folded they give something else", seed)
		}
	}
}

func FuzzPropertyChanges(f *testing.F) {
	f.Add("plan", "gold", 1.0, false)
	f.Add("a b", "\x00", math.Inf(1), true)
	f.Add(strings.Repeat("k", 201), strings.Repeat("é", 1001), math.NaN(), false)
	f.Fuzz(func(t *testing.T, key, value string, n float64, isNumber bool) {
		v := propText(value)
		if isNumber {
			v = propNumber(n)
		}
		c := PropertyChanges{key: v}
		err := c.Validate()
		if err != nil && (CodeOf(err) != CodeValidation || strings.ContainsAny(err.Error(), "\x00\r\n") || !utf8.ValidString(err.Error())) {
			t.Fatalf("%q", err)
		}
		if err != nil {
			return
		}
		p, err := c.Apply(nil)
		if err != nil || len(p) != 1 || p[key] != *v {
			t.Fatalf("%v %v", p, err)
		}
		if isNumber && (n-n != 0) || len(key) > 200 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Fatalf("%q with %v passes", key, *v)
		}
		if p, err = (PropertyChanges{key: nil}).Apply(p); err != nil || p != nil {
			t.Fatalf("%v stays after its removal, %v", p, err)
		}
	})
}
