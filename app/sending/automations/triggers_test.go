package automations_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/sending/automations"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Passes through contacts have several chunks and turns in all tests.
func init() { automations.SetChunks(2, 1) }

// addTrigger adds an enabled automation that only has a trigger, and returns its id.
func addTrigger(w *testserver.Server, key *app.Key, config map[string]any) string {
	w.T.Helper()
	return addAutomation(w, key, app.AutomationStep{Key: "start", Type: app.StepTrigger, Config: configOf(w.T, config)})
}

func addAutomation(w *testserver.Server, key *app.Key, steps ...app.AutomationStep) string {
	w.T.Helper()
	a, err := w.Services.Automations.Create(w.T.Context(), key, automations.Input{Name: "A", Status: app.AutomationEnabled, Flow: app.AutomationFlow{Steps: steps}})
	testserver.Must(w.T, err)
	return a.ID
}

func configOf(t testing.TB, config map[string]any) jsontext.Value {
	raw, err := json.Marshal(config)
	testserver.Must(t, err)
	return raw
}

// signals returns the names and payloads of the events that were stored since the last call, with their chain, and
// deletes them. names replaces ids.
func signals(w *testserver.Server, names ...string) string {
	w.T.Helper()
	rows := w.Rows(`SELECT name, payload, coalesce(chain, '') FROM automation_signals ORDER BY id`)
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.Write(`DELETE FROM automation_signals`) }))
	rows = strings.ReplaceAll(strings.ReplaceAll(rows, "mailer:", ""), " \n", "\n")
	return strings.TrimSpace(strings.NewReplacer(names...).Replace(rows))
}

// TestWritesOfContactsSignal: each change of a contact that a trigger names stores one event, with the chain of the
// run that made it; imports, batches and changes that change nothing store none, nor do those of another team.
func TestWritesOfContactsSignal(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx, a := t.Context(), w.Services.Audience
	topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
	plain := w.AddSegment(nil)
	addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerContactCreated})
	addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerOptIn})
	addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerSegmentJoined, "segment_id": plain.ID})
	other := w.AddTeam("Other", "other.example")
	var id string
	check := func(what, want string, do func() error) {
		t.Helper()
		testserver.Must(t, do())
		if got := signals(w, id+"x", "", topic.ID, "T", plain.ID, "S"); strings.ReplaceAll(got, id, "C") != want {
			t.Errorf("%s stores\n%s", what, got)
		}
	}
	input := func(email string) app.ContactInput {
		return app.ContactInput{Email: email, Segments: []app.SegmentRef{{ID: plain.ID}}, Topics: []app.TopicChoice{{ID: topic.ID, Subscription: app.OptIn}}}
	}
	all := "contact.created {\"contact_id\":\"C\"}\ncontact.opt_in {\"topic_id\":\"T\"}\nsegment.joined {\"segment_id\":\"S\"}"
	check("a new contact", all, func() (err error) {
		id, _, err = a.PutContact(ctx, w.Key, input("ann@example.net"), "")
		return err
	})
	check("the same contact again", "", func() error {
		_, _, err := a.PutContact(ctx, w.Key, input("ann@example.net"), app.ConflictUpsert)
		return err
	})
	check("the contact of another team", "", func() error {
		_, _, err := a.PutContact(ctx, other, app.ContactInput{Email: "ann@example.net"}, "")
		return err
	})
	choose := func(s app.Subscription) func() error {
		return func() error {
			_, _, err := a.SetContactTopics(ctx, w.Key, id, []app.TopicChoice{{ID: topic.ID, Subscription: s}})
			return err
		}
	}
	check("an opt-out", "", choose(app.OptOut))
	check("an opt-in", `contact.opt_in {"topic_id":"T"}`, choose(app.OptIn))
	check("the same opt-in", "", choose(app.OptIn))
	check("leaving and joining a segment", `segment.joined {"segment_id":"S"}`, func() error {
		if _, err := a.RemoveFromSegment(ctx, w.Key, id, plain.ID); err != nil {
			return err
		}
		if _, err := a.AddToSegment(ctx, w.Key, id, plain.ID); err != nil {
			return err
		}
		_, err := a.AddToSegment(ctx, w.Key, id, plain.ID)
		return err
	})
	token := w.PageToken(app.PreferencesPage, app.PageLink{Address: w.AddressHash("ann@example.net")})
	check("choices on the preferences page", `contact.opt_in {"topic_id":"T"}`, func() error {
		for _, s := range []app.Subscription{app.OptOut, app.OptIn} {
			if _, err := a.Pages.SavePreferences(ctx, token, map[string]app.Subscription{topic.ID: s}, ""); err != nil {
				return err
			}
		}
		return nil
	})
	check("a batch", "", func() error {
		in := input("bob@example.net")
		_, err := a.PutContacts(ctx, w.Key, []audience.ContactItem{{Input: &in}}, app.ConflictUpsert, false)
		return err
	})
	check("a batch with triggers", all, func() error {
		in := input("cid@example.net")
		r, err := a.PutContactsAndTrigger(ctx, w.Key, []audience.ContactItem{{Input: &in}}, app.ConflictUpsert, false)
		if err == nil {
			id = r.Rows[0].ID
		}
		return err
	})
	check("a set of a copy", "", func() error {
		return w.DB.Write(ctx, func(tx *db.Tx) error {
			cw, err := a.NewContactWriter(tx, w.Key.TeamID)
			if err != nil {
				return err
			}
			in := input("dan@example.net")
			n, err := in.Validate()
			if err != nil {
				return err
			}
			cw.Silent = true
			if _, err := cw.PutSet([]*app.NewContact{n}, audience.ConflictFill); err != nil {
				return err
			}
			return cw.Finish()
		})
	})
	step := func(do func(tx *db.Tx, c *app.Contact) error) func() error {
		return func() error {
			return w.DB.Write(ctx, func(tx *db.Tx) error {
				c, err := tx.Contact(w.Key.TeamID, id)
				if err != nil {
					return err
				}
				return do(tx, &c)
			})
		}
	}
	chain := []string{"run-of-one"}
	check("steps of a run", "segment.joined {\"segment_id\":\"S\"} [\"run-of-one\"]", step(func(tx *db.Tx, c *app.Contact) error {
		if err := a.RemoveFromSegmentIn(tx, c, plain.ID); err != nil {
			return err
		}
		return a.AddToSegmentIn(tx, c, plain.ID, chain)
	}))
	check("a step that resubscribes", "", step(func(tx *db.Tx, c *app.Contact) error {
		if ignored, err := a.SetTopicIn(tx, c, topic.ID, app.OptOut, chain); err != nil || ignored {
			return fmt.Errorf("opt-out ignored: %v, %w", ignored, err)
		}
		ignored, err := a.SetTopicIn(tx, c, topic.ID, app.OptIn, chain)
		if err == nil && !ignored {
			t.Error("an opt-in over an opt-out took effect")
		}
		yes, no := true, false
		for _, value := range []*bool{&yes, &no} {
			if err == nil {
				err = a.UpdateContactIn(tx, c, &app.ContactPatch{Unsubscribed: value}, chain)
			}
			if err == nil {
				*c, err = tx.Contact(c.TeamID, c.ID)
			}
		}
		if err == nil && !c.Unsubscribed {
			t.Error("a step resubscribed a contact")
		}
		return err
	}))
	check("a step that deletes", "", step(func(tx *db.Tx, c *app.Contact) error { return a.DeleteContactIn(tx, c) }))
}

// TestJoiningAFilteredSegment: those who are in the segment when an automation is enabled start nothing; later each
// join is noticed once, when the contact is written, or on the next day if it is due to time; a changed filter starts
// nothing.
func TestJoiningAFilteredSegment(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		ctx, a, s := t.Context(), w.Services.Audience, w.Services.Automations
		put := func(email, city string) string {
			t.Helper()
			id, _, err := a.PutContact(ctx, w.Key, app.ContactInput{Email: email, Properties: app.PropertyChanges{"city": {Type: app.StringProperty, Text: city}}}, app.ConflictUpsert)
			testserver.Must(t, err)
			return id
		}
		for i := range 7 {
			put(fmt.Sprintf("old%d@example.net", i), "Rome")
		}
		ann := put("ann@example.net", "Rome")
		segment := w.AddSegment(testserver.FilterOn("property:city", "equals", "Rome"))
		id := addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerSegmentJoined, "segment_id": segment.ID})
		joined := fmt.Sprintf(`segment.joined {"automation_id":"%s","segment_id":"%s"}`, id, segment.ID)
		want := func(what, want string) {
			t.Helper()
			if got := signals(w); got != want {
				t.Errorf("%s stores %q", what, got)
			}
		}
		put("ann@example.net", "Rome")
		put("old1@example.net", "Paris")
		want("writes of those who are in before they are remembered", "")
		bob := put("new@example.net", "Rome")
		want("a new contact before all are remembered", joined)
		testserver.Must(t, s.Turn(ctx))
		next := crash(w)
		for _, w := range []*testserver.Server{next, w} { // one that died after the first chunk, and one that did not
			s, a := w.Services.Automations, w.Services.Audience
			testserver.Must(t, s.RunDue(ctx))
			if got := w.SQL(`SELECT count(*) FROM automation_members`)[0]; got != "8" {
				t.Errorf("%s contacts are remembered", got)
			}
			if got := signals(w); got != "" {
				t.Errorf("remembering stores %s", got)
			}
			_, _, err := a.PutContact(ctx, w.Key, app.ContactInput{Email: "old1@example.net", Properties: app.PropertyChanges{"city": {Type: app.StringProperty, Text: "Rome"}}}, app.ConflictUpsert)
			testserver.Must(t, err)
			if got := signals(w); got != joined {
				t.Errorf("a join stores %s", got)
			}
		}
		put("old1@example.net", "Rome")
		put("ann@example.net", "Rome")
		want("writes that change no membership", "")
		put("ann@example.net", "Paris")
		want("a contact that leaves", "")
		put("ann@example.net", "Rome")
		want("a contact that joins again", joined)
		_, err := a.AddToSegment(ctx, w.Key, ann, segment.ID)
		testserver.Must(t, err)
		want("adding one who is in by the filter", "")

		// The other filter depends on time.
		live := testserver.FilterOn(app.FieldReceived, app.OpNotWithinDays, "3")
		_, err = a.UpdateSegment(ctx, w.Key, segment.ID, app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: live}})
		testserver.Must(t, err)
		testserver.Must(t, s.RunDue(ctx))
		want("a changed filter", "")
		before := w.SQL(`SELECT count(*) FROM automation_members`)[0]
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error {
			return tx.Write(`UPDATE contacts SET last_sent_at = ? WHERE id = ?`, tx.Now.UnixMilli(), bob)
		}))
		for day := range 6 {
			time.Sleep(25 * time.Hour)
			synctest.Wait()
			testserver.Must(t, s.RunDue(ctx))
			expected := ""
			if day == 2 {
				expected = joined
			}
			want(fmt.Sprint("day ", day), expected)
		}
		if after := w.SQL(`SELECT count(*) FROM automation_members`)[0]; after != before {
			t.Errorf("%s members, %s before", after, before)
		}
	})
}

// crash is w.Crash. A database of PostgreSQL is copied without its connections: w needs new ones.
func crash(w *testserver.Server) *testserver.Server {
	w.T.Helper()
	next := w.Crash()
	for i := 0; testserver.IsPostgres() && w.DB.Write(w.T.Context(), func(*db.Tx) error { return nil }) != nil; i++ {
		if i == 10 {
			w.T.Fatal("the server has no connection after its database was copied")
		}
		testserver.Sleep(50 * time.Millisecond)
	}
	return next
}

// TestStartsByDateAndSchedule: contacts of one team start once at their local hour, also if the process dies between
// chunks; late starts of the last day are made, older ones are not; held and disabled automations start none.
func TestStartsByDateAndSchedule(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) { // it is midnight of 1 January 2000 in UTC
		w := testserver.New(t, testserver.NewRelay(nil))
		ctx := t.Context()
		other := w.AddTeam("Other", "other.example")
		put := func(key *app.Key, email string, properties ...string) string {
			t.Helper()
			in := app.ContactInput{Email: email, Properties: app.PropertyChanges{}}
			for i := 0; i < len(properties); i += 2 {
				in.Properties[properties[i]] = &app.PropertyValue{Type: app.StringProperty, Text: properties[i+1]}
			}
			id, _, err := w.Services.Audience.PutContact(ctx, key, in, "")
			testserver.Must(t, err)
			return id
		}
		segment := w.AddSegment(nil)
		for i := range 5 {
			id := put(w.Key, fmt.Sprintf("utc%d@example.net", i), "birthday", "1990-01-02", "nr", fmt.Sprint(i))
			_, err := w.Services.Audience.AddToSegment(ctx, w.Key, id, segment.ID)
			testserver.Must(t, err)
		}
		put(w.Key, "kathmandu@example.net", "birthday", "1990-01-02", "time_zone", "Asia/Kathmandu") // 5:45 ahead
		put(w.Key, "bad@example.net", "birthday", "tomorrow")
		put(w.Key, "zone@example.net", "birthday", "1991-06-01", "time_zone", "Atlantis")
		put(other, "other@example.net", "birthday", "1990-01-02")
		date := addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerDate, "property": "birthday", "hour": 9, "yearly": true})
		plan := addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerSchedule, "segment_id": segment.ID, "schedule": "30 4 * * *", "time_zone": "Europe/Berlin"})
		starts := func(w *testserver.Server) string {
			t.Helper()
			return strings.Join(w.SQL(`SELECT s.name || ' ' || count(DISTINCT s.contact_id) || ' of ' || count(*) || ' ' || s.payload FROM automation_signals AS s GROUP BY s.name, s.payload ORDER BY min(s.id)`), "\n")
		}
		at := func(what, moment, want string) *testserver.Server {
			t.Helper()
			to, err := time.Parse(time.DateTime, moment)
			testserver.Must(t, err)
			time.Sleep(time.Until(to))
			testserver.Must(t, w.Services.Automations.Turn(ctx)) // a chunk of each
			crashed := crash(w)
			for _, w := range []*testserver.Server{crashed, w} {
				for range 2 {
					testserver.Must(t, w.Services.Automations.RunDue(ctx))
				}
				if got := starts(w); got != want {
					t.Errorf("%s, at %s:\n got %s\nwant %s", what, moment, got, want)
				}
			}
			testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error { return tx.Write(`DELETE FROM automation_signals`) }))
			return crashed
		}
		byDate := func(n int, day string) string {
			return fmt.Sprintf(`mailer:date %d of %d {"automation_id":"%s","date":"%s","property":"birthday"}`, n, n, date, day)
		}
		byPlan := func(day string) string {
			return fmt.Sprintf(`mailer:schedule 5 of 5 {"at":"%sT04:30:00+01:00","automation_id":"%s","segment_id":"%s"}`, day, plan, segment.ID)
		}
		at("before anything is due", "2000-01-01 03:29:59", "")
		at("the schedule", "2000-01-01 03:30:00", byPlan("2000-01-01"))
		at("an hour before the date", "2000-01-02 03:14:59", "")
		at("the date in Kathmandu", "2000-01-02 03:15:00", byDate(1, "2000-01-02"))
		at("the schedule on the next day", "2000-01-02 03:30:10", byPlan("2000-01-02"))
		at("just before the date in UTC", "2000-01-02 08:59:59", "")
		crashed := at("the date in UTC", "2000-01-02 09:00:00", byDate(5, "2000-01-02"))
		if got := w.SQL(`SELECT n FROM automation_counts WHERE kind = 'no_date'`); len(got) != 1 || got[0] != "2" {
			t.Errorf("%v contacts have no readable date or zone", got)
		}
		at("twice at the same time", "2000-01-02 09:00:01", "")
		at("after three days, one start", "2000-01-05 03:31:00", byPlan("2000-01-05"))
		at("after a day and more, none", "2000-01-06 03:29:00", "")
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error { return tx.Write(`UPDATE automations SET held = 'restored' WHERE id = ?`, plan) }))
		at("held", "2000-01-06 03:30:00", "")
		testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error { return w.Services.Automations.Release(tx, w.Key.TeamID, plan) }))
		at("released", "2000-01-06 03:40:00", "")
		at("the next time", "2000-01-07 03:30:00", byPlan("2000-01-07"))
		_, err := w.Services.Automations.Stop(ctx, w.Key, plan)
		testserver.Must(t, err)
		at("stopped", "2000-01-08 03:30:00", "")
		at("nearly a day late", "2001-01-03 02:50:00", byDate(6, "2001-01-02"))

		// What died during the pass of a day that is long over does not go on.
		testserver.Must(t, crashed.Services.Automations.RunDue(ctx))
		testserver.Must(t, crashed.DB.Write(ctx, func(tx *db.Tx) error { return tx.Write(`DELETE FROM automation_signals`) }))
		testserver.Must(t, crashed.Services.Automations.RunDue(ctx))
		if got := starts(crashed); got != "" {
			t.Errorf("again %s", got)
		}
	})
}

// TestLongOverPassEnds: a pass that was under way when the server stopped for more than a day does not go on.
func TestLongOverPassEnds(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		segment := w.AddSegment(&app.Filter{Match: app.MatchAll})
		w.AddContacts(5)
		addTrigger(w, w.Key, map[string]any{"event_name": app.TriggerSchedule, "segment_id": segment.ID, "schedule": "0 9 * * mon"})
		time.Sleep(2*24*time.Hour + 9*time.Hour) // Monday
		testserver.Must(t, w.Services.Automations.Turn(t.Context()))
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{0, "2"}, {24 * time.Hour, "2"}, {6 * 24 * time.Hour, "7"}} {
			time.Sleep(c.after)
			if c.after > 0 {
				testserver.Must(t, w.Services.Automations.RunDue(t.Context()))
			}
			if got := w.SQL(`SELECT count(*) FROM automation_signals`)[0]; got != c.want {
				t.Errorf("%s starts after %v, not %s", got, c.after, c.want)
			}
		}
	})
}

// TestImportsSignalOnlyOnRequest: an import stores no events unless its input says so; who joins a filtered segment by it
// is remembered either way.
func TestImportsSignalOnlyOnRequest(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
		plain, filtered := w.AddSegment(nil), w.AddSegment(testserver.FilterOn("first_name", app.OpIsSet, ""))
		for _, config := range []map[string]any{{"event_name": app.TriggerContactCreated}, {"event_name": app.TriggerOptIn},
			{"event_name": app.TriggerSegmentJoined, "segment_id": plain.ID}, {"event_name": app.TriggerSegmentJoined, "segment_id": filtered.ID}} {
			addTrigger(w, w.Key, config)
		}
		testserver.SleepAndSettle(time.Minute)
		for _, c := range []struct {
			triggers bool
			want     string
		}{{false, ""}, {true, "contact.created 2 contact.opt_in 2 segment.joined 3"}} {
			_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(file io.Writer) (contactfile.Input, error) {
				_, err := fmt.Fprintf(file, "email,first name\na%[1]v@example.net,A\nb%[1]v@example.net,\n", c.triggers)
				return contactfile.Input{TriggerAutomations: c.triggers, Segments: []app.SegmentRef{{ID: plain.ID}}, Topics: []app.TopicChoice{{ID: topic.ID, Subscription: app.OptIn}}}, err
			})
			testserver.Must(t, err)
			testserver.SleepAndSettle(time.Minute)
			got := strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(w.SQL(`SELECT name || ' ' || count(*) FROM automation_signals GROUP BY name ORDER BY name`), " "), "mailer:", "")), " ")
			if got != c.want {
				t.Errorf("with triggers %v: %s", c.triggers, got)
			}
		}
		if got := w.SQL(`SELECT count(*) FROM automation_members`)[0]; got != "2" {
			t.Errorf("%s contacts are remembered", got)
		}
	})
}

// TestGoalSegmentsSignal: a contact with an open run that a write puts into the filtered segment of a goal stores an
// event; one without a run does not.
func TestGoalSegmentsSignal(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	segment := w.AddSegment(testserver.FilterOn("first_name", app.OpEquals, "Ann"))
	id := addAutomation(w, w.Key, app.AutomationStep{Key: "start", Type: app.StepTrigger, Config: configOf(t, map[string]any{"event_name": "order"})},
		app.AutomationStep{Key: "goal", Type: app.StepGoal, Config: configOf(t, map[string]any{"segment_id": segment.ID})})
	for i, want := range []string{"", fmt.Sprintf(`segment.joined {"automation_id":"%s","segment_id":"%s"}`, id, segment.ID)} {
		contact := w.AddContact(fmt.Sprintf("c%d@example.net", i), false)
		if i == 1 {
			run := app.Run{ID: app.NewID(), TeamID: w.Key.TeamID, AutomationID: id, ContactID: contact.ID, Version: 1, Status: app.RunRunning, StepKey: "start", StepN: 1}
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertRun(&run) }))
		}
		_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, contact.ID, app.ContactPatch{FirstName: app.Change[string]{Set: true, Value: "Ann"}})
		testserver.Must(t, err)
		if got := signals(w); got != want {
			t.Errorf("contact %d stores %q", i, got)
		}
	}
}
