package relays

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// Where a relay is configured.
const (
	FromFlag     = "flag"     // --relay or MAILER_RELAY: read-only
	FromDatabase = "database" // `mailer relays add`
)

// maxWaiting bounds the count of mail that waits for a relay.
const maxWaiting = 1_000_000

// Status is the state of a relay as the server stored it last.
type Status struct {
	Region      string  `json:"region"`
	Name        string  `json:"name,omitzero"` // in full, unless it is the region's
	From        string  `json:"from"`          // FromFlag or FromDatabase
	Host        string  `json:"host"`          // with the port
	User        string  `json:"user,omitzero"`
	State       string  `json:"state"`  // open, resting, paused or failing
	Reason      *string `json:"reason"` // reply of the relay, or the operator's pause
	Since       *string `json:"since"`
	NextTry     *string `json:"next_try"`
	Rate        float64 `json:"rate"`        // messages a second; 0: no limit
	Daily       int64   `json:"daily"`       // messages in 24 hours; 0: no limit
	DailyUsed   int64   `json:"daily_used"`  // counted if there is a limit
	Connections int     `json:"connections"` // concurrent connections that it allows
	Waiting     int64   `json:"waiting"`     // emails, counted up to a million
	// Note says that the database has a relay of the same name, which is not used.
	Note string `json:"note,omitzero"`
	// LastTest is the last test since the server started; nil: none.
	LastTest *LastTest `json:"last_test,omitzero"`
	// Traffic is set for the relays of a region that has reserves.
	*Traffic `json:",inline"`
	// Failover is set at the first relay of a region that has reserves.
	*Failover `json:",inline"`

	usage []db.UsageMinute
}

// FullName returns the name of the relay for operators: see relayurl.Relay.
func (st *Status) FullName() string { return cmp.Or(st.Name, st.Region) }

// Traffic is how much mail left through a relay.
type Traffic struct {
	SentHour int64 `json:"sent_hour"` // messages in the last hour
	SentDay  int64 `json:"sent_day"`  // messages in the last 24 hours
	InDoubt  int64 `json:"in_doubt"`  // messages that the relay may have sent
}

// LastTest is the result of the last test of a relay.
type LastTest struct {
	OK       bool      `json:"ok"`
	TestedAt time.Time `json:"tested_at"`
	Step     string    `json:"step"` // the failed step, or the last one
	Reply    string    `json:"said"` // the relay's reply or our error in that step
}

func hostOf(r relayurl.Relay) string { return net.JoinHostPort(r.Host, strconv.Itoa(r.Port)) }

// statusOf returns what is known of a relay without the database.
func statusOf(r relayurl.Relay, from string) Status {
	return Status{Region: r.Region, Name: r.Name, From: from, Host: hostOf(r), User: r.User, State: delivery.RelayOpen,
		Rate: r.Rate, Daily: r.Daily, Connections: r.Connections}
}

// List returns the status of all relays: those of the server's flags and those of the database.
func (s *Service) List(ctx context.Context) ([]Status, error) {
	var all []Status
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if all, err = s.list(r); err != nil {
			return err
		}
		return countAll(r, all, clock.Now())
	})
	if err != nil {
		return nil, fmt.Errorf("list relays: %w", err)
	}
	return all, nil
}

// Get returns the status of one relay. Error: app.CodeNotFound.
func (s *Service) Get(ctx context.Context, region string) (Status, error) {
	var found Status
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		all, err := s.list(r)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(st Status) bool { return st.FullName() == region })
		if i < 0 {
			return errUnknownRelay(region)
		}
		if err := countAll(r, all, clock.Now()); err != nil {
			return err
		}
		found = all[i]
		return nil
	})
	return found, wrap("look at", region, err)
}

func (s *Service) list(r *db.Reader) ([]Status, error) {
	states, err := r.RelayStates()
	if err != nil {
		return nil, err
	}
	rows, err := r.Relays()
	if err != nil {
		return nil, err
	}
	all, unknown := []Status{}, "the server has not reported it yet"
	published := map[string]Status{}
	for _, st := range states {
		var status Status
		if err := json.Unmarshal(st.State, &status); err != nil {
			return nil, fmt.Errorf("read the state of relay %s: %w", st.Region, err)
		}
		if published[st.Region] = status; st.Sealed != nil {
			all = append(all, status)
		}
	}
	for _, row := range rows {
		i := slices.IndexFunc(all, func(st Status) bool { return st.FullName() == row.Region })
		if i >= 0 {
			all[i].Note = "Relay " + row.Region + " in the database is ignored: --relay/MAILER_RELAY defines the same name"
			continue
		}
		relay, err := s.unseal(row)
		if err != nil {
			return nil, err
		}
		next := statusOf(relay, FromDatabase)
		if last, ok := published[row.Region]; ok {
			next.State, next.Reason, next.Since, next.NextTry, next.Connections, next.LastTest = last.State, last.Reason, last.Since, last.NextTry, last.Connections, last.LastTest
		} else {
			next.Reason = &unknown
		}
		all = append(all, next)
	}
	for i := range all { // this process knows newer tests than the database
		if last := s.lastTest(all[i].FullName(), all[i].Host); last.Step != "" {
			all[i].LastTest = &last
		}
	}
	if err := s.applyPauseRows(r, all); err != nil {
		return nil, err
	}
	return s.groupStatus(r, all)
}

// applyPauseRows applies the stored pauses, which the server follows within one second.
func (s *Service) applyPauseRows(r *db.Reader, all []Status) error {
	pauses, err := r.RelayPauses()
	if err != nil {
		return err
	}
	now := clock.Now()
	for i := range all {
		st := &all[i]
		at := slices.IndexFunc(pauses, func(p db.RelayPause) bool { return p.Region == st.FullName() })
		if at < 0 {
			if st.State == delivery.RelayPaused {
				st.State, st.Reason, st.Since, st.NextTry = delivery.RelayOpen, nil, nil, nil
			}
			continue
		}
		if p := (delivery.Pause{Since: pauses[at].PausedAt, Until: pauses[at].Until}); p.Active(now) {
			text := p.Text()
			st.State, st.Reason, st.Since, st.NextTry = delivery.RelayPaused, &text, app.FormatTimePtr(p.Since), app.FormatTimePtr(p.Until)
		}
	}
	return nil
}

// countAll reads the usage of relays and how much mail waits for them. What waits in a region with
// reserves counts at its first relay.
func countAll(r *db.Reader, all []Status, now time.Time) error {
	queues, err := r.UnitRelays()
	if err != nil {
		return err
	}
	doubts, counted := map[string]int64(nil), map[string]bool{}
	for i := range all {
		st := &all[i]
		if !counted[st.Region] {
			counted[st.Region] = true
			if st.Waiting, err = countQueues(r, queues, func(queue string) bool { return app.QueueRegion(queue) == st.Region }); err != nil {
				return err
			}
		}
		if st.Traffic != nil && doubts == nil {
			if doubts, err = r.OpenDoubts(); err != nil {
				return err
			}
		}
		if err := st.count(r, doubts, now); err != nil {
			return err
		}
	}
	return countMoved(all)
}

// countQueues counts the mail that waits in some queues.
func countQueues(r *db.Reader, queues []string, counts func(queue string) bool) (n int64, err error) {
	for _, queue := range queues {
		if !counts(queue) || n >= maxWaiting {
			continue
		}
		one, err := r.CountWaiting(queue, "", "", maxWaiting)
		if err != nil {
			return 0, err
		}
		n += one
	}
	return min(n, maxWaiting), nil
}

// count reads the usage of a relay that has a daily limit or whose region has reserves.
func (st *Status) count(r *db.Reader, doubts map[string]int64, now time.Time) error {
	if st.Daily == 0 && st.Traffic == nil {
		return nil
	}
	minute := now.Unix() / 60
	rows, err := r.Usage(st.FullName(), minute-pacing.DayMinutes+1)
	for _, row := range rows {
		if st.Daily > 0 {
			st.DailyUsed += row.Sent
		}
		if st.Traffic == nil {
			continue
		}
		if st.SentDay += row.Sent; row.Minute > minute-60 {
			st.SentHour += row.Sent
		}
	}
	if st.Traffic != nil {
		st.InDoubt, st.usage = doubts[st.FullName()], rows
	}
	return err
}

// countMoved counts in each region what left through its active relay since the last switch, as far
// back as usage is kept, and what other relays may have sent.
func countMoved(all []Status) error {
	find := func(name string) *Status {
		at := slices.IndexFunc(all, func(st Status) bool { return st.FullName() == name })
		if at < 0 {
			return nil
		}
		return &all[at]
	}
	for i := range all {
		f := all[i].Failover
		if f == nil || f.SwitchedAt == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, *f.SwitchedAt)
		if err != nil {
			return fmt.Errorf("read the time of a switch: %w", err)
		}
		for _, name := range append([]string{f.Primary}, f.Reserves...) {
			st := find(name)
			switch {
			case st == nil || st.Traffic == nil:
			case name != f.Active:
				f.Kept += st.InDoubt
			default:
				for _, row := range st.usage {
					if row.Minute >= at.Unix()/60 {
						f.Moved += row.Sent
					}
				}
			}
		}
	}
	return nil
}

// stateOf converts the state of a relay queue for the database, where commands read it.
func (s *Service) stateOf(st delivery.State) (db.RelayState, error) {
	from, sealed := FromDatabase, []byte(nil)
	if s.isFlag(st.Relay.FullName()) {
		var plain bytes.Buffer
		if err := gob.NewEncoder(&plain).Encode(st.Relay); err != nil {
			return db.RelayState{}, fmt.Errorf("encode the relay %s: %w", st.Relay.FullName(), err)
		}
		from, sealed = FromFlag, s.Sealer.Seal(base.RelayPurpose, st.Relay.FullName(), plain.Bytes())
	}
	status := statusOf(st.Relay, from)
	status.State, status.Connections = st.State, cmp.Or(st.Connections, status.Connections)
	if st.Reason != "" {
		status.Reason = &st.Reason
	}
	status.Since, status.NextTry = app.FormatTimePtr(st.Since), app.FormatTimePtr(st.NextTry)
	if last := s.lastTest(st.Relay.FullName(), hostOf(st.Relay)); last.Step != "" {
		status.LastTest = &last
	}
	text, err := json.Marshal(status)
	if err != nil {
		return db.RelayState{}, fmt.Errorf("encode the state of relay %s: %w", st.Relay.FullName(), err)
	}
	return db.RelayState{Region: st.Relay.FullName(), State: text, Sealed: sealed}, nil
}

// openFlag decrypts a relay of a server's flags.
func (s *Service) openFlag(st db.RelayState) (relay relayurl.Relay, err error) {
	plain, err := s.Sealer.Open(base.RelayPurpose, st.Region, st.Sealed)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(plain)).Decode(&relay)
	}
	if err != nil {
		return relay, fmt.Errorf("open the relay %s of the server's flags: %w", st.Region, err)
	}
	return relay, nil
}

func (s *Service) isFlag(name string) bool {
	return slices.ContainsFunc(s.Flags, func(r relayurl.Relay) bool { return r.FullName() == name })
}
