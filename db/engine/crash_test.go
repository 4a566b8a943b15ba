package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/db/dbtest"
)

// The crash test runs this binary again as the process to be killed, and passes it the database
// and the first number to write in these variables.
const (
	crashPath = "MAILER_TEST_CRASH_DB"
	crashFrom = "MAILER_TEST_CRASH_FROM"
)

const crashWriters = 16 // more than one, so that commits are shared

func TestCommittedWritesSurviveKill(t *testing.T) { survivesKills(t, 4) }

// survivesKills kills a writing process in each of rounds, and checks after each that every
// confirmed write is there. The first round creates the database.
func survivesKills(t *testing.T, rounds int) {
	if path := os.Getenv(crashPath); path != "" {
		crashChild(t, path)
		return
	}
	path := filepath.Join(dbtest.Dir(t), "x.db")
	var answered []string
	for round := range rounds {
		got := killRound(t, path, round*1_000_000)
		if len(got) == 0 {
			t.Fatalf("round %d: nothing was answered before the kill", round)
		}
		answered = append(answered, got...)
		checkAnswered(t, path, answered)
	}
	t.Logf("%d answers in %d rounds", len(answered), rounds)
}

// killRound runs the child, kills it at a random moment and returns what it had printed.
func killRound(t *testing.T, path string, from int) []string {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), crashPath+"="+path, crashFrom+"="+strconv.Itoa(from))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got []string
	after := 1 + rand.IntN(300)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "n") {
			t.Errorf("the child says %s", lines.Text())
			continue
		}
		if got = append(got, lines.Text()); len(got) == after {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	return got
}

func checkAnswered(t *testing.T, path string, answered []string) {
	t.Helper()
	if got := ask(t, path, "PRAGMA integrity_check"); got != "ok" {
		t.Fatalf("integrity: %s", got)
	}
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Read(t.Context(), func(r *Reader) error {
		for _, name := range answered {
			if value, err := r.Setting(name); err != nil || string(value) != name {
				t.Errorf("%s was answered and is %q, %v", name, value, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

// crashChild writes numbers with no limit and prints each after its Write returned.
func crashChild(t *testing.T, path string) {
	from, err := strconv.Atoi(os.Getenv(crashFrom))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			for n := from + w; ; n += crashWriters {
				name := "n" + strconv.Itoa(n)
				if err := d.Write(context.Background(), func(tx *Tx) error { return tx.SetSetting(name, []byte(name)) }); err != nil {
					t.Error(err)
					return
				}
				fmt.Println(name)
			}
		})
	}
	wg.Wait()
}
