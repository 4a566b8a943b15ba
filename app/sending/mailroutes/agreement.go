package mailroutes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/brand"
	"mailer/app/sending/mail"
	"mailer/db"
)

const (
	// askAgainAfter is how long after a mail the owner of an address may be asked again.
	askAgainAfter = 7 * 24 * time.Hour
	// maxAskedPerDay is how many owners a team may ask in 24 hours, and maxAsksPerDay is how many teams may ask the same
	// owner.
	maxAskedPerDay = 20
	maxAsksPerDay  = 3
)

// question is a destination to store, with the mail that asks its owner; nil: none.
type question struct {
	destination app.ForwardAddress
	field       string // of the route
	mail        *mail.AccountMail
}

// prepare makes the mails that ask the owners of destinations of a route, outside of Write. Errors: CodeValidation that
// names the action.
func (s *Service) prepare(ctx context.Context, m *app.MailRoute) (out []question, err error) {
	if !m.Does(app.RouteForward) {
		return nil, nil
	}
	var known []app.ForwardAddress
	var look brand.Brand
	blocked := app.Blocked{}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if known, err = r.ForwardAddresses(m.TeamID, app.MaxForwardAddresses); err != nil {
			return err
		}
		if look, err = r.Brand(m.TeamID); err != nil {
			return err
		}
		var all []string
		for _, a := range m.Actions {
			if a.Type == app.RouteForward {
				all = append(all, a.To)
			}
		}
		blocked, err = s.audience.BlockedRecipients(r, m.TeamID, "", all)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	now, from := clock.Now(), ""
	byAddress := map[string]app.ForwardAddress{}
	for _, d := range known {
		byAddress[d.Address] = d
	}
	for i, a := range m.Actions {
		if a.Type != app.RouteForward {
			continue
		}
		field := fmt.Sprintf("actions[%d].to", i)
		d, ok := byAddress[a.To]
		switch {
		case ok && d.Status() == app.ForwardPaused:
			d.Refusals, d.AcceptedAt = 0, time.Time{}
			out = append(out, question{destination: d})
			continue
		case ok && (d.Status() != app.ForwardWaiting || now.Sub(d.AskedAt) < askAgainAfter):
			continue
		case len(blocked.Allowed([]string{a.To})) == 0:
			return nil, app.Invalid(field, "is suppressed in this team, so its owner can't be asked")
		case !ok && len(known)+len(out) >= app.MaxForwardAddresses:
			return nil, app.Invalid(field, "is one too many: a team may ask %d addresses", app.MaxForwardAddresses)
		}
		if !ok {
			d = app.ForwardAddress{ID: app.NewID(), TeamID: m.TeamID, Address: a.To, CreatedAt: now}
		}
		d.AskedAt = now
		if from == "" {
			if from, err = s.senderOf(ctx, m.TeamID, look.Team); err != nil {
				return nil, err
			}
		}
		q := question{destination: d, field: field}
		if q.mail, err = s.agreementMail(&d, from, look.Team); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// ask stores destinations, and accepts the mails that ask their owners. Errors: CodeValidation if enough were asked, and
// those of mail.Accept.
func (s *Service) ask(tx *db.Tx, asked []question) error {
	for i := range asked {
		d := asked[i].destination
		now, err := tx.ForwardAddressNamed(d.TeamID, d.Address)
		switch {
		case errors.Is(err, db.ErrNotFound):
			d.CreatedAt = tx.Now
		case err != nil:
			return err
		case now.ID != d.ID || asked[i].mail != nil && !now.AskedAt.Equal(d.AskedAt) && tx.Now.Sub(now.AskedAt) < askAgainAfter:
			continue // another request asked meanwhile
		case now.Status() == app.ForwardStopped:
			continue // its owner stopped it meanwhile
		}
		if asked[i].mail == nil {
			d.AgreedAt = now.AgreedAt
		}
		if err := tx.PutForwardAddress(&d); err != nil {
			return err
		}
		if asked[i].mail == nil {
			continue
		}
		if err := s.count(tx, &asked[i]); errors.Is(err, db.ErrConflict) {
			continue // the destination was erased, and its owner asked before that
		} else if err != nil {
			return err
		}
		if err := s.mail.Accounts.Accept(tx, asked[i].mail); err != nil {
			return err
		}
	}
	return nil
}

// count counts a mail that asks. Errors: CodeValidation if enough were sent; db.ErrConflict if the team asked the address
// lately.
func (s *Service) count(tx *db.Tx, q *question) error {
	address := s.Sealer.Hash(askedPurpose, []byte(q.destination.Address))
	byTeam, ofAddress, err := tx.CountAsked(q.destination.TeamID, address, tx.Now.Add(-day), maxAskedPerDay)
	switch {
	case err != nil:
		return err
	case byTeam >= maxAskedPerDay:
		return app.Invalid(q.field, "can't be asked now: a team may ask %d addresses in 24 hours", maxAskedPerDay)
	case ofAddress >= maxAsksPerDay:
		return app.Invalid(q.field, "can't be asked now: %d teams of this server asked its owner in the last 24 hours; try again tomorrow", maxAsksPerDay)
	}
	return tx.InsertAsked(q.destination.TeamID, address, tx.Now.Add(-askAgainAfter))
}

// askedPurpose is the purpose of the hashes of addresses that are asked.
const askedPurpose = "asked to agree to forwarding"

// senderOf returns the sender of the mails that ask. Error: CodeValidation if the team has no verified domain.
func (s *Service) senderOf(ctx context.Context, teamID, team string) (string, error) {
	name, err := db.Get(ctx, s.DB, func(r *db.Reader) (string, error) {
		name, err := r.VerifiedDomain(teamID)
		if errors.Is(err, db.ErrNotFound) && s.Settings.Capture {
			return "capture.invalid", nil
		}
		return name, err
	})
	if errors.Is(err, db.ErrNotFound) {
		return "", app.Errorf(app.CodeValidation, "This team has no verified domain to send the mail from that asks a destination; verify one")
	}
	if err != nil {
		return "", base.Unavailable(err)
	}
	from := app.Address{Name: app.OneLine(team), Local: "no-reply", Domain: name}
	if _, err := app.ParseAddress(from.String()); err != nil {
		from.Name = ""
	}
	return from.String(), nil
}

// agreementMail makes the mail that asks the owner of an address. Only its recipient sees the link in it. Error:
// CodeValidation if the base URL is unknown.
func (s *Service) agreementMail(d *app.ForwardAddress, from, team string) (*mail.AccountMail, error) {
	if s.Settings.BaseURL == "" {
		return nil, app.Errorf(app.CodeValidation, "A destination is asked by a link, and where the pages of this server are reached is not known before `mailer serve` ran on its database")
	}
	team = app.CutText(app.OneLine(team), maxTeam)
	subject := team + " asks to forward mail to you"
	text := team + " asks to forward mail that arrives at its addresses to " + d.Address + ".\n\n" +
		"To agree, open this page and press the button:\n" + s.link(d, agreeLink) + "\n\n" +
		"Nothing is forwarded unless you agree, and each forwarded mail has a link that stops it. " +
		"If you did not expect this, do nothing, or press the other button on that page: then you are not asked again.\n"
	return s.mail.Accounts.Prepare(d.TeamID, from, d.Address, subject, text)
}

// maxTeam bounds the name of the team in the subject, in bytes.
const maxTeam = 150

// linkPurpose is the purpose that the tokens of links to destinations are bound to.
const linkPurpose = "forwarding page v1"

// The kinds of links.
const (
	agreeLink = 1 // in the mail that asks: agrees, stops, and agrees again
	stopLink  = 2 // in forwarded mail, which its recipient may pass on: stops
)

const linkTokenSize = 1 + 2*16

// link returns the URL of the page of a destination.
func (s *Service) link(d *app.ForwardAddress, kind byte) string {
	b := []byte{kind}
	for _, id := range []string{d.TeamID, d.ID} {
		raw := uuid.MustParse(id)
		b = append(b, raw[:]...)
	}
	return s.Settings.BaseURL + "/forwarding/" + s.Sealer.SealToken(linkPurpose, b)
}

// PageView is what the page of a destination shows.
type PageView struct {
	Brand   brand.Brand
	Address string
	Status  app.ForwardStatus
	// MayAgree: the link may also agree.
	MayAgree bool
}

// Page returns what the page of a link shows, and changes nothing. Error: CodeNotFound.
func (s *Service) Page(ctx context.Context, token string) (v *PageView, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		v, _, err = s.open(r, token)
		return err
	})
	return v, base.Lookup("page", err)
}

// open reads the page of a link. Error: db.ErrNotFound.
func (s *Service) open(r *db.Reader, token string) (*PageView, app.ForwardAddress, error) {
	b, ok := s.Sealer.OpenToken(linkPurpose, token, linkTokenSize, linkTokenSize)
	if !ok || b[0] != agreeLink && b[0] != stopLink {
		return nil, app.ForwardAddress{}, db.ErrNotFound
	}
	d, err := r.ForwardAddress(uuid.UUID(b[1:17]).String(), uuid.UUID(b[17:]).String())
	if err != nil {
		return nil, d, err
	}
	v := &PageView{Address: d.Address, Status: d.Status(), MayAgree: b[0] == agreeLink}
	v.Brand, err = r.Brand(d.TeamID)
	return v, d, err
}

// Decide stores what the owner of an address decided by a button of the page: agree, or stop. Errors: CodeNotFound,
// also for agreeing by a link that only stops.
func (s *Service) Decide(ctx context.Context, token string, agree bool) (v *PageView, err error) {
	defer s.Load.Enter()()
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error { // like an opt-out, also on a full disk
		now, d, err := s.open(&tx.Reader, token)
		if err != nil {
			return err
		}
		if agree && !now.MayAgree {
			return db.ErrNotFound
		}
		switch {
		case agree && d.Status() != app.ForwardAgreed:
			d.AgreedAt, d.StoppedAt, d.Refusals, d.AcceptedAt = tx.Now, time.Time{}, 0, time.Time{}
		case !agree && d.Status() != app.ForwardStopped:
			d.StoppedAt = tx.Now
		}
		if err := tx.PutForwardAddress(&d); err != nil {
			return err
		}
		now.Status, v = d.Status(), now
		return nil
	})
	return v, base.Lookup("page", err)
}
