package rest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/app/kit/fair"
)

func TestSpoolIsBounded(t *testing.T) {
	b, dir := newFixture(t), t.TempDir()
	const size = 1000
	b.handler.spool = fair.New(fair.Config[string]{Capacity: 5 * size, LeaveHalf: true})
	spool := func(team string, n int) (*Spooled, error) {
		t.Helper()
		x, r := b.bodyOf(&fakeBody{part: 300, left: n}, team, -1)
		if err := b.handler.openStream(x, r, size); err != nil {
			t.Fatal(err)
		}
		file, err := x.Stream.Spool(dir)
		b.handler.bodyBudget.release(&x.bodyMemory)
		return file, err
	}
	first, err := spool("a", size)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(first); err != nil || len(content) != size {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are in the folder, %v", left, err)
	}
	for range 3 { // a body that is refused holds nothing
		if _, err := spool("a", size+1); statusOfErr(err) != 413 {
			t.Errorf("a longer body: %v", err)
		}
	}
	second, err := spool("a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spool("a", 1); app.CodeOf(err) != app.CodeRateLimitExceeded {
		t.Errorf("the third of a team: %v", err)
	}
	other, err := spool("b", 1)
	if err != nil {
		t.Fatalf("another team: %v", err)
	}
	for _, file := range []*Spooled{first, second, other} {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := b.handler.spool.Free("a"); n < 2*size {
		t.Errorf("%d bytes are free", n)
	}
}

func TestSpoolFilesAreSwept(t *testing.T) {
	dir := t.TempDir()
	left, kept := filepath.Join(dir, "mailer-upload-1.tmp"), filepath.Join(dir, "mailer.db")
	for _, name := range []string{left, kept} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	SweepSpool(dir)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
