package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPathOfAPeerThatIsNoProgramIsToldWithItsVariable(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, nil, 0o644))
	for _, path := range []string{filepath.Join(dir, "missing"), text, dir, "maddy"} {
		t.Setenv(maddyVariable, path)
		_, err := programFrom(maddyVariable)
		if err == nil || !strings.HasPrefix(err.Error(), maddyVariable+"="+path+" is no ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Setenv(maddyVariable, "")
	if path, err := programFrom(maddyVariable); path != "" || err != nil {
		t.Errorf("not set: %q, %v", path, err)
	}
}

// Without its variable a peer leaves no trace, neither in the turns nor in the table.
func TestPeersTakePartWhereTheirVariableIsSet(t *testing.T) {
	for path, want := range map[string]struct{ contenders, pairs int }{"": {4, 2}, "/somewhere/maddy": {6, 4}} {
		t.Setenv(maddyVariable, path)
		r := newReport(&bytes.Buffer{})
		for _, who := range contenders() {
			r.outcome(who, outcome{})
		}
		if len(r.outcomes) != want.contenders || len(r.pairs()) != want.pairs {
			t.Errorf("%q: %d contenders, %d pairs", path, len(r.outcomes), len(r.pairs()))
		}
	}
}

func TestMaddyIsMeasuredSignedAndUnsigned(t *testing.T) {
	if testing.Short() {
		t.Skip("starts mail servers")
	}
	if os.Getenv(maddyVariable) == "" {
		t.Setenv(maddyVariable, fake(t, "maddy"))
	}
	c := newContest(t, 2*connections)
	for _, who := range contenders() {
		if !strings.HasPrefix(who.name, "maddy") {
			continue
		}
		if o := c.measure(who); o.rate <= 0 || o.cpu <= 0 || o.memory <= 0 || o.busy.arrived.p50 <= 0 {
			t.Errorf("%s: %+v", who.name, o)
		}
	}
}

// The short form of BenchmarkVersusListmonk. Its figures mean nothing.
func TestBroadcastIsMeasuredBesideListmonk(t *testing.T) {
	needsPostgres(t)
	if os.Getenv(listmonkVariable) == "" {
		t.Setenv(listmonkVariable, fake(t, "listmonk"))
	}
	c := newSite(t, 3*connections)
	r := newReport(&bytes.Buffer{})
	for _, who := range casters {
		o := c.broadcast(who)
		if o.rate <= 0 || o.cpu <= 0 || o.memory <= 0 || o.cast.begun <= 0 || o.cast.bytes < len(letter("", "")) {
			t.Errorf("%s: %+v", who.name, o)
		}
		if _, counted := o.programs["postgres"]; counted != (who.name == listmonkCast) {
			t.Errorf("%s: processor time of %v", who.name, o.programs)
		}
		r.cast(who, o)
		if lost, doubled := r.faults(who.name); lost != 0 || doubled != 0 {
			t.Errorf("%s: %d lost, %d doubled", who.name, lost, doubled)
		}
	}
	r.castTable(c.messages)
	t.Logf("%s", r.out)
}

// The control: a peer that loses and doubles is found out.
func TestMessagesThatAPeerLosesAndDoublesAreCounted(t *testing.T) {
	needsPostgres(t)
	t.Setenv(listmonkVariable, fake(t, "unsound listmonk"))
	c := newSite(t, 3*connections)
	o := c.broadcast(casters[1])
	if o.cast.lost != 1 || o.cast.doubled != 2 {
		t.Errorf("%d lost, %d doubled", o.cast.lost, o.cast.doubled)
	}
}

func needsPostgres(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts mail servers")
	}
	_, err := postgresPrograms()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}
