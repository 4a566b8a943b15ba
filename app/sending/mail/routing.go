package mail

import (
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/routing"
	"mailer/db"
)

// routes are the queues of the recipients of an email.
type routes struct {
	queues map[string]string // by address
	all    []string          // each queue once, in the order in which the email goes through them
	rules  []string          // each rule that was applied once, in words
}

// Stream returns the stream of a unit for rules.
func Stream(u app.Unit) string {
	if u.BroadcastID != "" {
		return routing.Broadcast
	}
	return routing.Transactional
}

// route applies the rules of a region to the recipients of a unit; nil: none matches.
func (s *Service) route(u app.Unit, keyID string, recipients []string) *routes {
	rules := s.Settings.RoutingRules(u.Relay)
	if rules == nil {
		return nil
	}
	out := &routes{queues: map[string]string{}}
	for _, to := range recipients {
		queue := u.Relay
		if rule := routing.Match(rules, &routing.Mail{EmailID: u.EmailID, KeyID: keyID, Stream: Stream(u), To: to}); rule != nil {
			queue = rule.Queue
			if words := rule.Words(); !slices.Contains(out.rules, words) {
				out.rules = append(out.rules, words)
			}
		}
		if out.queues[to] = queue; !slices.Contains(out.all, queue) {
			out.all = append(out.all, queue)
		}
	}
	if out.rules == nil {
		return nil
	}
	slices.Sort(out.all)
	return out
}

// words names the rules that were applied; empty: none.
func (r *routes) words() string {
	if r == nil {
		return ""
	}
	return strings.Join(r.rules, "; ")
}

// set puts a unit that is about to be inserted into its first queue.
func (r *routes) set(u *app.Unit) {
	if r == nil {
		return
	}
	if u.Relay = r.all[0]; len(r.all) > 1 {
		u.Part = u.Relay
	}
}

// insertUnit inserts the unit of an email in the queues of its recipients.
func (r *routes) insertUnit(tx *db.Tx, u app.Unit) error {
	if err := tx.InsertUnit(u); err != nil || u.Part == "" {
		return err
	}
	return tx.SplitRecipients(u.EmailID, r.queues)
}

// InsertUnit inserts a unit that waits again, in the queues that the rules of its region name.
func (s *Service) InsertUnit(tx *db.Tx, u *app.Unit, keyID string, recipients []string) error {
	r := s.route(*u, keyID, recipients)
	r.set(u)
	return r.insertUnit(tx, *u)
}

// BroadcastRule returns the rule that a recipient of a broadcast matches in a region; nil: none.
func (s *Service) BroadcastRule(region, emailID, to string) *routing.Rule {
	return routing.Match(s.Settings.RoutingRules(region), &routing.Mail{EmailID: emailID, Stream: routing.Broadcast, To: to})
}
