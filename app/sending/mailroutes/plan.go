package mailroutes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/inbound"
	"mailer/db"
)

// ForwardedHeader is in each forwarded mail: what carries it is never forwarded again.
const ForwardedHeader = "X-Mailer-Forwarded"

const (
	// effectPurpose is the purpose of the hashes of effects.
	effectPurpose = "route effect"
	// maxForwards is to how many destinations one received email is forwarded.
	maxForwards = 20
	// maxHops is how many servers may have received an email: more of them mean a loop (RFC 5321 6.3).
	maxHops = 50
)

// Plan is what the routes of a team do with a received email.
type Plan struct {
	Store    bool
	Announce bool // as email.received
	effects  []app.RouteEffect
	work     []planned
}

// planned is work of a plan.
type planned struct {
	db.RouteWork
	routeID string // of an answer; empty: it forwards
}

// Plan returns what the routes of the team do with a received email, which has its id, recipients and authentication.
// content is a hash of the message. It changes nothing.
func (s *Service) Plan(ctx context.Context, e *app.Received, m *inbound.Message, content []byte) (*Plan, error) {
	p := &Plan{}
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		*p = Plan{}
		routes, err := r.MailRoutes(e.TeamID)
		if err != nil {
			return err
		}
		b := &planner{s: s, plan: p, e: e, m: m, r: r, content: content}
		for i, recipient := range e.Recipients {
			route := app.RouteFor(routes, app.KeyOf(recipient))
			if route == nil {
				p.Store, p.Announce = true, true
				continue
			}
			if err := b.add(route, i); err != nil {
				return err
			}
		}
		return nil
	})
	return p, base.Unavailable(err)
}

// planner makes a plan.
type planner struct {
	s        *Service
	plan     *Plan
	e        *app.Received
	m        *inbound.Message
	r        *db.Reader
	content  []byte
	forwards []string // destinations so far
	answers  []string // routes that answer so far
}

// add adds what a route does for a recipient.
func (b *planner) add(route *app.MailRoute, recipient int) error {
	for _, a := range route.Actions {
		b.plan.Store = b.plan.Store || a.Type != app.RouteDrop
		var err error
		switch a.Type {
		case app.RouteWebhook:
			b.plan.Announce = true
		case app.RouteForward:
			if !slices.Contains(b.forwards, a.To) {
				b.forwards = append(b.forwards, a.To)
				err = b.forward(route, a.To, recipient)
			}
		case app.RouteReply:
			if !slices.Contains(b.answers, route.ID) {
				b.answers = append(b.answers, route.ID)
				err = b.answer(route, a.TemplateID, recipient)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put adds an effect, with work unless it has a reason not to happen.
func (b *planner) put(effect app.RouteEffect, work planned) {
	work.TeamID, work.ReceivedID, work.N = b.e.TeamID, b.e.ID, len(b.plan.effects)
	effect.Status = app.EffectSkipped
	if effect.Reason == "" {
		effect.Status = app.EffectWaiting
		b.plan.work = append(b.plan.work, work)
	}
	b.plan.effects = append(b.plan.effects, effect)
}

func (b *planner) hash(kind, what, who string) []byte {
	return b.s.Sealer.Hash(effectPurpose, []byte(b.e.TeamID+"\x00"+kind+"\x00"+what+"\x00"+who))
}

func (b *planner) forward(route *app.MailRoute, to string, recipient int) error {
	d, err := b.r.ForwardAddressNamed(b.e.TeamID, to)
	if base.IgnoreNotFound(err) != nil {
		return err
	}
	effect := app.RouteEffect{Type: app.RouteForward, RouteID: route.ID, DestinationID: d.ID, Reason: forwardRefusal(b.e, b.m)}
	if effect.Reason == "" {
		effect.Reason = refusalOf(&d)
	}
	if effect.Reason == "" && b.e.AutoSubmitted != app.AutoNone && (app.KeyOf(b.e.FromEmail).String() == to || app.KeyOf(b.e.MailFrom).String() == to) {
		effect.Reason = "A program answered from the address itself"
	}
	if effect.Reason == "" && len(b.forwards) > maxForwards {
		effect.Reason = fmt.Sprintf("An email is forwarded to at most %d addresses", maxForwards)
	}
	what := b.e.MessageID
	if what == "" {
		what = string(b.content)
	}
	b.put(effect, planned{RouteWork: db.RouteWork{Effect: b.hash("forward", what, d.ID), Recipient: recipient}})
	return nil
}

// refusalOf returns why nothing is forwarded to a destination; empty: it is.
func refusalOf(d *app.ForwardAddress) string {
	switch d.Status() {
	case app.ForwardAgreed:
		return ""
	case app.ForwardStopped:
		return "The owner of the address stopped it"
	case app.ForwardPaused:
		return fmt.Sprintf("The address is paused: it refused %d emails in a row", app.PausingRefusals)
	}
	return "The owner of the address has not agreed"
}

// forwardRefusal returns why an email is not forwarded; empty: it is.
func forwardRefusal(e *app.Received, m *inbound.Message) string {
	switch {
	case e.Auth.DMARC == app.AuthFail:
		return "DMARC failed: it may be a forgery"
	case (e.Auth.DMARC == app.AuthTempError || e.Auth.DMARC == app.AuthPermError) && !e.Auth.FromAligned:
		return "DMARC could not be checked: it may be a forgery"
	case e.Spam != nil && e.Spam.IsSpam:
		return "The spam filter says that it is spam"
	case countHeaders(m, ForwardedHeader) > 0:
		return "It was forwarded before"
	case countHeaders(m, "Received") > maxHops:
		return "It passed too many servers: it may be in a loop"
	}
	return ""
}

func countHeaders(m *inbound.Message, name string) (n int) {
	for i := range m.Headers {
		if strings.EqualFold(m.Headers[i].Name, name) {
			n++
		}
	}
	return n
}

func (b *planner) answer(route *app.MailRoute, templateID string, recipient int) error {
	effect := app.RouteEffect{Type: app.RouteReply, RouteID: route.ID, Reason: answerRefusal(b.e, b.m)}
	to := app.KeyOf(b.e.MailFrom)
	if effect.Reason == "" {
		own, err := b.r.IsOwnDomain(b.e.TeamID, domainOf(to))
		if err != nil {
			return err
		}
		if own {
			effect.Reason = "It came from an own address"
		}
	}
	b.put(effect, planned{routeID: route.ID, RouteWork: db.RouteWork{Effect: b.hash("answer", route.ID, to.String()), Recipient: recipient, TemplateID: templateID}})
	return nil
}

// answerRefusal returns why an email is not answered; empty: it is. Anybody can write any envelope sender: it is answered
// only if it is the author, whom DMARC proves, or if SPF proves it for the same domain. Otherwise a stranger could have
// the team write to anybody.
func answerRefusal(e *app.Received, m *inbound.Message) string {
	from, author := app.KeyOf(e.MailFrom), app.KeyOf(e.FromEmail)
	switch {
	case e.MailFrom == "":
		return "It has no sender to answer"
	case e.Auth.DMARC != app.AuthPass:
		return "Its sender is not proven by DMARC"
	case e.AutoSubmitted != app.AutoNone:
		return "A program or a mailing list sent it"
	case countHeaders(m, ForwardedHeader) > 0:
		return "It was forwarded"
	case e.Spam != nil && e.Spam.IsSpam:
		return "The spam filter says that it is spam"
	case from != author && (domainOf(from) != domainOf(author) || e.Auth.SPF != app.AuthPass):
		return "Its envelope sender is not proven"
	}
	return ""
}

func domainOf(key app.AddressKey) string {
	text := key.String()
	return text[strings.LastIndexByte(text, '@')+1:]
}

// Apply stores the work of the plan, and sets the effects of the email, before the email is stored. It runs inside the
// Write that stores the email.
func (s *Service) Apply(tx *db.Tx, p *Plan, e *app.Received) error {
	e.Effects = slices.Clone(p.effects)
	left := false
	for _, w := range p.work {
		w.CreatedAt = tx.Now
		since, twice := tx.Now.Add(-effectsFor), "It was forwarded there before"
		if w.routeID != "" {
			since, twice = tx.Now.Add(-app.AnswerAgainAfter), "The address got an answer of the route in the last "+strconv.Itoa(int(app.AnswerAgainAfter.Hours()/24))+" days"
			n, err := tx.CountAnswers(e.TeamID, w.routeID, tx.Now.Add(-day), app.MaxAnswersPerDay)
			if err != nil {
				return err
			}
			if n >= app.MaxAnswersPerDay {
				skip(e, w.N, fmt.Sprintf("The route has sent %d answers in 24 hours", app.MaxAnswersPerDay))
				continue
			}
		}
		err := tx.InsertRouteWork(&w.RouteWork, w.routeID, since)
		if errors.Is(err, db.ErrConflict) {
			skip(e, w.N, twice)
			continue
		}
		if err != nil {
			return err
		}
		left = true
	}
	if left {
		tx.AfterCommit(s.wake.Notify)
	}
	return nil
}

func skip(e *app.Received, n int, reason string) {
	e.Effects[n].Status, e.Effects[n].Reason = app.EffectSkipped, reason
}
