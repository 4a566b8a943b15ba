//go:build long

package bench

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The short form of BenchmarkVersus tests the benchmark itself. Its figures are meaningless.
func TestLongPeersDeliverAndSignEachMessage(t *testing.T) {
	c := newContest(t, 2*connections)
	r := newReport(&bytes.Buffer{})
	for _, who := range contenders() {
		if what := missing(who.signed); what != "" && strings.Contains(who.name, "Postfix") {
			t.Logf("%s is left out: missing: %s", who.name, what)
			continue
		}
		o := c.measure(who)
		if o.rate <= 0 || o.cpu <= 0 || o.memory <= 0 || o.busy.accepted.p50 <= 0 || o.busy.arrived.p50 <= 0 || o.lowRate.accepted.p50 <= 0 || o.lowRate.arrived.p50 <= 0 {
			t.Errorf("%s: %+v", who.name, o)
		}
		r.outcome(who, o)
	}
	r.table()
	t.Logf("%s", r.out)
}

func TestLongMaddySignedAndUnsigned(t *testing.T) {
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

// The short form of BenchmarkVersusListmonk. Its figures are meaningless.
func TestLongBroadcastVersusListmonk(t *testing.T) {
	needsPostgres(t)
	if os.Getenv(listmonkVariable) == "" {
		t.Setenv(listmonkVariable, fake(t, "listmonk"))
	}
	c := newSite(t, 3*connections)
	r := newReport(&bytes.Buffer{})
	for _, who := range senders {
		o := c.broadcast(who)
		if o.rate <= 0 || o.cpu <= 0 || o.memory <= 0 || o.cast.begun <= 0 || o.cast.bytes < len(newsletterHTML("", "")) {
			t.Errorf("%s: %+v", who.name, o)
		}
		if _, counted := o.programs["postgres"]; counted != (who.name == listmonkCampaign) {
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

// The control: a peer that loses and duplicates messages is detected.
func TestLongLostAndDuplicatedMessagesAreCounted(t *testing.T) {
	needsPostgres(t)
	t.Setenv(listmonkVariable, fake(t, "unsound listmonk"))
	c := newSite(t, 3*connections)
	o := c.broadcast(senders[1])
	if o.cast.lost != 1 || o.cast.duplicated != 2 {
		t.Errorf("%d lost, %d doubled", o.cast.lost, o.cast.duplicated)
	}
}

func needsPostgres(t *testing.T) {
	t.Helper()
	_, err := postgresPrograms()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}

// fake writes a program that runs one of the fakes and returns its path.
func fake(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	path := t.TempDir() + "/fake"
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' \"$@\"\n", fakeVariable, name, self)
	must(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}
