package cli

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestBarAppearsAfterDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		b := newBar(t.Context(), terminal{&out, 80}, "delete", 1000)
		for i := range 19 {
			time.Sleep(100 * time.Millisecond)
			b.At(int64(10*i+10), 1000)
		}
		if out.Len() > 0 {
			t.Fatalf("shown before two seconds: %q", out.String())
		}
		for i := range 10 {
			time.Sleep(100 * time.Millisecond)
			b.At(int64(10*i+200), 1000)
		}
		time.Sleep(150 * time.Millisecond) // the bar is drawn after all updates, in any order
		lines := strings.Split(out.String(), "\r")
		last := lines[len(lines)-1]
		for _, part := range []string{"delete", " 28%", "290/1000", "it/s)", "[3s:7s]"} {
			if !strings.Contains(last, part) {
				t.Errorf("%q has no %q", last, part)
			}
		}
		if utf8.RuneCountInString(last) > 80 {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(last), last)
		}
		b.Done()
		if last := out.String()[strings.LastIndex(strings.TrimSuffix(out.String(), "\r"), "\r"):]; strings.TrimSpace(last) != "" {
			t.Errorf("left on the terminal: %q", last)
		}
		b.Done()
	})
}

func TestBarHidesShortWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		b := newBar(t.Context(), terminal{&out, 80}, "delete", 10)
		time.Sleep(time.Second)
		b.At(5, 20)
		b.Done()
		if out.Len() > 0 {
			t.Errorf("%q", out.String())
		}
	})
}

func TestBarNeedsTerminal(t *testing.T) {
	b := newBar(t.Context(), terminal{}, "delete", 10)
	b.At(1, 2)
	b.Done()
}

func TestBarEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out screen
		b := newBar(ctx, terminal{&out, 80}, "delete", 0)
		time.Sleep(3 * time.Second)
		b.At(1, 0)
		cancel()
		synctest.Wait()
		if text := out.String(); !strings.Contains(text, "delete") || !strings.HasSuffix(text, " \r") {
			t.Errorf("%q", text)
		}
		b.Done()
	})
}

func TestColouredTablesAlign(t *testing.T) {
	table := Table{Head: []string{"NAME", "STATUS", "REGION"}, Rows: []Row{
		{Cells: []string{"käse.example", "verified", "eu"}}, {Cells: []string{"b.example", "not_started", "us-east-1"}}, {Cells: []string{"\x1b[2Jc", "odd", "x"}},
	}}
	want := "NAME          STATUS       REGION\n" +
		"käse.example  verified     eu\n" +
		"b.example     not_started  us-east-1\n" +
		" [2Jc         odd          x\n"
	var text bytes.Buffer
	if err := table.write(&text, false); err != nil || text.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text.String(), want)
	}
	var coloured bytes.Buffer
	if err := table.write(&coloured, true); err != nil || !strings.Contains(coloured.String(), green+"verified"+plain+" ") {
		t.Errorf("%v %q", err, coloured.String())
	}
	bare := coloured.String()
	for _, code := range []string{green, yellow, red, plain} {
		bare = strings.ReplaceAll(bare, code, "")
	}
	if bare != want {
		t.Errorf("without colours %q", bare)
	}
	if bytes.ContainsRune(text.Bytes(), 0x1b) || State(&text, "failed") != "failed" {
		t.Error("escape codes where nobody sees colours")
	}
}

// screen is a terminal that is looked at while a bar draws on it.
type screen struct {
	mu    sync.Mutex
	drawn []byte
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = append(s.drawn, b...)
	return len(b), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.drawn)
}

func (s *screen) Len() int { return len(s.String()) }
