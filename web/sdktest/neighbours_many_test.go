package sdktest

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// manyTeams makes so many teams, each with a copy of the one email of the database that
// is scheduled.
const manyTeams = `import sqlite3, sys, uuid
c = sqlite3.connect(sys.argv[1])
def copy(table, where, key, **changed):
	rows = c.execute(f"SELECT * FROM {table} WHERE {where} = ?", (key,))
	names = [d[0] for d in rows.description]
	for row in rows.fetchall():
		c.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", [changed.get(n, v) for n, v in zip(names, row)])
email, team = c.execute("SELECT email_id, team_id FROM units WHERE state = 'later'").fetchone()
for i in range(int(sys.argv[2])):
	t, e = str(uuid.uuid4()), str(uuid.uuid4())
	copy("teams", "id", team, id=t, name=f"Team {i}")
	copy("emails", "id", email, id=e, team_id=t)
	copy("contents", "email_id", email, email_id=e)
	copy("recipients", "email_id", email, email_id=e)
	copy("units", "email_id", email, email_id=e, team_id=t)
c.commit()`

// TestNeighboursWithMailForLater: sends are as fast when 2,000 teams have a scheduled email each.
func TestNeighboursWithMailForLater(t *testing.T) {
	part(t, judged)
	t.Parallel()
	const teams, sends = 2000, 60
	var took [2][]time.Duration
	var of [2]*neighbours
	for i := range of {
		of[i] = newNeighbours(t, newSink(t, sinkOptions{}), "")
	}
	many := of[1]
	many.well.api.send(t, map[string]any{"from": many.well.from, "to": "later@example.com", "subject": "later", "text": "x",
		"scheduled_at": time.Now().Add(20 * 24 * time.Hour).UTC().Format(time.RFC3339)})
	many.in.stop(t)
	if out, err := exec.Command(python, "-c", manyTeams, many.in.db, fmt.Sprint(teams)).CombinedOutput(); err != nil {
		need(t, false, fmt.Sprintf("%s with a new SQLite: %s", python, out))
	}
	many.in.serve(t)
	for n := range sends {
		for i := range of {
			took[i] = append(took[i], of[i].one(t, fmt.Sprint("well-", n)))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	empty, full := took[0][sends/2], took[1][sends/2]
	t.Logf("a send takes %s, with %d teams that have mail for later %s", empty, teams, full)
	if full > 3*empty {
		t.Errorf("a send takes %s instead of %s", full, empty)
	}
}
