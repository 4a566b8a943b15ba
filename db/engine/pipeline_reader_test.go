package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestConcurrentReadsShareRoundTrip(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	for i := range 2 {
		err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting(fmt.Sprint("s", i), []byte(fmt.Sprint("v", i))) })
		if err != nil {
			t.Fatal(err)
		}
	}
	const parts, queries = maxParts + 4, 3
	read := func(fail bool) (trips int, errs []error) {
		errs = make([]error, parts)
		w.RoundTrips()
		err := d.Read(t.Context(), func(r *Reader) error {
			r.Concurrently(parts, func(r *Reader, i int) {
				for range queries {
					v, err := r.Setting(fmt.Sprint("s", i%2))
					if err == nil && string(v) != fmt.Sprint("v", i%2) {
						err = fmt.Errorf("part %d read %q", i, v)
					}
					errs[i] = errors.Join(errs[i], err)
				}
				if fail && i == 3 {
					_, err := One(&r.Conn, scanText, `SELECT CAST(1 / 0 AS text)`)
					errs[i] = errors.Join(errs[i], err)
				}
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return len(w.RoundTrips()), errs
	}
	for range 2 * readers { // preparing takes round trips of its own, once
		if _, errs := read(false); errors.Join(errs...) != nil {
			t.Fatal(errors.Join(errs...))
		}
	}
	if got, _ := read(false); got != 2*queries {
		t.Errorf("%d parts with %d queries each took %d round trips", parts, queries, got)
	}
	if _, errs := read(true); errs[3] == nil || errs[2] != nil {
		t.Errorf("%v beside what fails, which met %v", errs[2], errs[3])
	}
	if _, errs := read(false); errors.Join(errs...) != nil {
		t.Errorf("after one that failed: %v", errors.Join(errs...))
	}
}

func TestConcurrentReadPanicPropagates(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	panicked := func() (fault any) {
		defer func() { fault = recover() }()
		_ = d.Read(t.Context(), func(r *Reader) error {
			r.Concurrently(3, func(r *Reader, i int) {
				if _, err := r.Setting("none"); !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				if i == 1 {
					panic("boom")
				}
			})
			return nil
		})
		return nil
	}
	if got := panicked(); !strings.Contains(fmt.Sprint(got), "boom") {
		t.Errorf("a part panicked and the caller saw %v", got)
	}
}
