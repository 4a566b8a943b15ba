package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/outcome"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/db"
)

const (
	// alignmentTTL is how long the records of a sender's domain are cached, and how soon the mail of
	// a domain that waits for its records is looked at again.
	alignmentTTL = 10 * time.Second
	// maxAlignments is how many domains' records are cached.
	maxAlignments = 10_000
)

// domainRecords is what the last check found in the DNS of a sender's domain.
type domainRecords struct {
	spf    app.RecordCheck
	policy string // of DMARC: app.Domain.StrictDMARC
	// trusted: the operator trusts the domain, so that its records need not be found.
	trusted bool
}

func recordsOf(d *app.Domain) domainRecords {
	return domainRecords{spf: d.SPFCheck(), policy: d.StrictDMARC(), trusted: d.Trusted}
}

// lacks reports whether the SPF record lacks a mechanism. strictly: it does unless a check found it.
func (r *domainRecords) lacks(mechanism string, strictly bool) bool {
	if slices.Contains(r.spf.Lacks, mechanism) {
		return true
	}
	return strictly && !r.trusted && r.spf.Live == app.LiveFound && !slices.Contains(r.spf.Has, mechanism)
}

// readRecords returns the records of a sender's domain, at most alignmentTTL old; the zero value for
// an unknown domain. r is only used if they are not cached.
func (s *Service) readRecords(from sender, r func(func(r *db.Reader) error) error) (out domainRecords, err error) {
	key := from.Team + " " + from.Domain
	if known, ok := s.alignments.Get(key); ok {
		return known, nil
	}
	mark := s.alignments.Mark()
	err = r(func(r *db.Reader) error {
		d, err := r.DomainByName(from.Team, from.Domain)
		out = recordsOf(&d)
		return base.IgnoreNotFound(err)
	})
	if err == nil {
		s.alignments.Put(key, out, mark)
	}
	return out, err
}

// alignmentLog holds the senders whose mail a queue does not send through a reserve, and those about
// which it warned. The queue of a region has another log after each switch.
type alignmentLog struct {
	mu      sync.Mutex
	waiting map[sender]*alignmentWait
	warned  map[sender]bool
	changed bool // waiting was not recorded yet
	closed  bool // the queue was retired

	recording sync.Mutex // held while troubles are stored
}

// alignmentWait is mail of a sender that waits for another relay, or for a DNS record.
type alignmentWait struct {
	why     string
	trouble string // id; empty: not stored
	over    bool
}

// substitutes reports whether the queue uses a reserve that nobody chose for this mail.
func (l *relayQueue) substitutes() bool {
	return l.reserve && app.QueueRelay(l.key) != l.name
}

// mustWait reports whether mail of a sender must not leave through the reserve that the queue uses:
// it would fail the DMARC policy of the domain, or the operator wants SPF records to name the relay.
// The reason is recorded by recordWaiting.
func (l *relayQueue) mustWait(r *db.Reader, s sender) (bool, error) {
	if !l.substitutes() {
		return false, nil
	}
	region := l.s.RelayQueues.now().region(app.QueueRegion(l.key))
	if region == nil {
		return false, nil
	}
	why := ""
	if unsigned := !l.relay.DKIM && !region.ByOperator; unsigned || region.AlignedOnly {
		records, err := l.s.readRecords(s, func(read func(r *db.Reader) error) error { return read(r) })
		switch spf := spfOfReserve(&l.relay); {
		case err != nil:
			return false, err
		case unsigned && records.policy != "":
			why = fmt.Sprintf("Mail of %s waits for another relay than %s, which is used instead of %s: messages through it have no DKIM signature, and the DMARC policy of the domain is %s", s.Domain, l.name, region.Relays[0], records.policy)
		case region.AlignedOnly && spf != "" && records.lacks(spf, true):
			why = fmt.Sprintf("Mail of %s waits for another relay than %s, which is used instead of %s: the SPF record of the domain does not name it", s.Domain, l.name, region.Relays[0])
		}
	}
	l.alignment.note(s, why)
	return why != "", nil
}

// spfOfReserve returns the mechanism by which SPF records name a reserve; empty: it needs none,
// because its provider uses an envelope sender of its own, or its addresses are unknown.
func spfOfReserve(r *relayurl.Relay) string {
	if r.Profile == relayurl.ProfileSES && r.SPF == "" {
		return ""
	}
	needs := r.Needs()
	return needs.SPF
}

// note notes that mail of a sender waits, or not (why is empty).
func (a *alignmentLog) note(s sender, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.waiting[s]
	switch {
	case w == nil && (why == "" || a.closed || len(a.waiting) >= maxAlignments):
	case w == nil:
		if a.waiting == nil {
			a.waiting = map[sender]*alignmentWait{}
		}
		a.waiting[s], a.changed = &alignmentWait{why: why}, true
	case why != "" && w.why != why && w.trouble == "":
		w.why, w.over = why, false
	case w.over != (why == ""):
		w.over, a.changed = why == "", true
	}
}

// recordWaiting stores whose mail waits, for its timelines, and whose mail does not wait any more.
// Only the leader does, since all servers see the same mail.
func (l *relayQueue) recordWaiting() {
	a := &l.alignment
	a.mu.Lock()
	idle := !a.changed
	a.mu.Unlock()
	if idle || !l.s.leader.Load() {
		return
	}
	a.recording.Lock()
	defer a.recording.Unlock()
	open, over := a.take(l.name, app.QueueRegion(l.key))
	for _, t := range open {
		l.s.Log.Warn("mail of a domain does not leave through a reserve", "relay", l.name, "team", t.TeamID, "domain", t.Domain, "reason", t.Detail.Message)
	}
	err := l.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		for _, t := range open {
			if err := tx.OpenTrouble(t); err != nil {
				return err
			}
		}
		for _, id := range over {
			if err := tx.CloseTrouble(id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.s.LogUnlessUnavailable("note that mail waits for another relay", err, "relay", l.name)
	}
}

// take returns the troubles to open, and the ids of those to close.
func (a *alignmentLog) take(relay, region string) (open []app.RelayTrouble, over []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = false
	for s, w := range a.waiting {
		switch {
		case w.over:
			if delete(a.waiting, s); w.trouble != "" {
				over = append(over, w.trouble)
			}
		case w.trouble == "":
			w.trouble = app.NewID()
			open = append(open, app.RelayTrouble{ID: w.trouble, Relay: region, TeamID: s.Team, Domain: s.Domain, StartedAt: clock.Now(),
				Detail: app.EventDetail{Relay: relay, Message: w.why}})
		}
	}
	return open, over
}

// endWaiting ends all waits of a queue that was retired.
func (l *relayQueue) endWaiting() {
	l.alignment.mu.Lock()
	l.alignment.closed = true
	for _, w := range l.alignment.waiting {
		w.over, l.alignment.changed = true, true
	}
	l.alignment.mu.Unlock()
	l.recordWaiting()
}

// unaligned returns what the timeline of an email says if its domain's SPF record lacks the reserve
// through which it leaves; empty: nothing. It warns once for each domain and switch.
func (l *relayQueue) unaligned(ctx context.Context, s sender) string {
	if !l.reserve {
		return ""
	}
	spf := spfOfReserve(&l.relay)
	if spf == "" {
		return ""
	}
	records, err := l.s.readRecords(s, func(read func(r *db.Reader) error) error { return l.s.DB.Read(ctx, read) })
	if err != nil || !records.lacks(spf, false) { // sending matters more
		return ""
	}
	note := fmt.Sprintf("the SPF record of %s does not name %s", s.Domain, l.name)
	l.alignment.mu.Lock()
	defer l.alignment.mu.Unlock()
	if !l.alignment.warned[s] && len(l.alignment.warned) < maxAlignments {
		if l.alignment.warned == nil {
			l.alignment.warned = map[sender]bool{}
		}
		l.alignment.warned[s] = true
		l.s.Log.Warn("mail leaves through a reserve that the SPF record of its domain does not name", "relay", l.name, "team", s.Team, "domain", s.Domain, "mechanism", spf)
	}
	return note
}

// primaryForLarge returns the primary of the region if a reserve refused a message because of its
// size, which the primary may take; empty: it did not.
func (l *relayQueue) primaryForLarge(res *app.Result) string {
	if !l.reserve || l.key == app.OnlyQueue(app.QueueRegion(l.key), l.name) || res.Kind != app.ResultRefused || res.Reply.Enhanced != "5.3.4" && res.Reply.Enhanced != "5.2.3" && res.Reply.Code != 552 {
		return ""
	}
	region := l.s.RelayQueues.now().region(app.QueueRegion(l.key))
	if region == nil {
		return ""
	}
	return region.Relays[0]
}

// waitForPrimary returns a message that is too large for a reserve to the queue, in that of the
// primary. No attempt is counted.
func (l *relayQueue) waitForPrimary(p permits, j *job, res app.Result, primary string) {
	l.relaySucceeded(p)
	u := j.unit
	u.Relay = app.OnlyQueue(app.QueueRegion(l.key), primary)
	stored := false
	l.record(j, func(tx *db.Tx) error {
		tx.AfterCommit(func() { stored = true })
		if err := l.recorder.recordAttempt(tx, j, res); err != nil {
			return err
		}
		d := l.recorder.detailWithReason(j.unit, res.Stage, res.Reply, time.Time{}, "it is too large for this reserve and waits for "+primary)
		if err := tx.InsertEvent(mail.NewEvent(tx, j.unit, app.EventDeferred, "", d)); err != nil {
			return err
		}
		return requeue(tx, u, u.Attempts-1, tx.Now)
	})
	l.logResults(j, outcome.Postponed(res), app.Postponed, false, stored)
	l.s.Wake(u.Relay)
}
