package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mailer/db"
)

// mailSender is who mail of Mailer's own is from, at a verified domain.
const mailSender = "Mailer <mailer@"

// How many invitations are mailed within mailWindow, whatever becomes of them: of a team to
// an address, of a team at all, and to an address by all teams. Others are shown where they
// are made and not mailed.
const (
	mailWindow         = 24 * time.Hour
	maxMailsPerPair    = 1
	maxMailsPerTeam    = 20
	maxMailsPerAddress = 5
)

// mailOrigin is where a mail to a person comes from: a domain and its team. The zero one is
// nowhere: no mail.
type mailOrigin struct{ team, domain string }

// mailDomainOf returns a verified domain of a team whose mail may leave. Error: db.ErrNotFound.
func mailDomainOf(r *db.Reader, team string) (from mailOrigin, err error) {
	suspended, err := r.IsSuspended(team)
	if err == nil && suspended {
		err = db.ErrNotFound
	}
	if err != nil {
		return from, err
	}
	domain, err := r.VerifiedDomain(team)
	return mailOrigin{team, domain}, err
}

// firstMailDomain returns a domain of the first of some teams that has one; nowhere: none has.
func firstMailDomain(r *db.Reader, teams ...string) (mailOrigin, error) {
	for _, team := range teams {
		from, err := mailDomainOf(r, team)
		if !errors.Is(err, db.ErrNotFound) {
			return from, err
		}
	}
	return mailOrigin{}, nil
}

// deliver sends a mail of Mailer's own to a person. What fails is logged without the text:
// nobody's account waits for a mail.
func (s *Service) deliver(ctx context.Context, from mailOrigin, to, subject, text string) {
	if s.SendMail == nil || from.domain == "" {
		return
	}
	if err := s.SendMail(context.WithoutCancel(ctx), from.team, mailSender+from.domain+">", to, subject, text); err != nil {
		s.Log.Warn("a mail to a person was not accepted", "subject", subject, "err", err)
	}
}

// notify sends a person a mail about the account: from a domain of the first team, which is
// the operator's, or else of the team that the person joined first. Teams that the person
// joined later have no part in it.
func (s *Service) mailUser(ctx context.Context, u *User, subject, text string) {
	if s.SendMail == nil {
		return
	}
	from, err := db.Get(context.WithoutCancel(ctx), s.DB, func(r *db.Reader) (from mailOrigin, err error) {
		first, err := r.FindTeam("")
		if err != nil {
			return from, err
		}
		joined, err := r.Memberships(u.ID)
		if err != nil {
			return from, err
		}
		teams := []string{first.ID}
		if len(joined) > 0 {
			teams = append(teams, slices.MinFunc(joined, func(a, b Membership) int {
				return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.TeamID, b.TeamID))
			}).TeamID)
		}
		return firstMailDomain(r, teams...)
	})
	if err != nil {
		s.Log.Warn("a mail to a person was not accepted", "subject", subject, "err", err)
		return
	}
	s.deliver(ctx, from, u.Address, subject, text)
}

// reserveInvitationMail returns where the mail of an invitation comes from, and notes that it is sent:
// from a domain of the team that invites, or else of the first team; nowhere for a team
// that is suspended, where there is no such domain, and where enough were sent lately.
func (s *Service) reserveInvitationMail(tx *db.Tx, i *Invitation) (from mailOrigin, err error) {
	if s.SendMail == nil {
		return from, nil
	}
	suspended, err := tx.IsSuspended(i.TeamID)
	if err != nil || suspended {
		return from, err
	}
	hash := hashOf(i.Address)
	pair, team, address, err := tx.InvitationMails(i.TeamID, hash, tx.Now.Add(-mailWindow))
	if err != nil || pair >= maxMailsPerPair || team >= maxMailsPerTeam || address >= maxMailsPerAddress {
		return from, err
	}
	first, err := tx.FindTeam("")
	if err != nil {
		return from, err
	}
	if from, err = firstMailDomain(&tx.Reader, i.TeamID, first.ID); err != nil || from.domain == "" {
		return from, err
	}
	return from, tx.PutInvitationMail(i.TeamID, hash)
}

// mailInvitation tells somebody that he was invited. A mail from another team's domain than
// that of the team which invites holds no word of the latter.
func (s *Service) mailInvitation(ctx context.Context, from mailOrigin, i *Invitation, link string) {
	team, subject := "a team", "You were invited to Mailer"
	if from.team == i.TeamID {
		team, subject = "the team "+i.TeamName, "You were invited to "+i.TeamName
	}
	var text strings.Builder
	text.WriteString("You were invited to join " + team + " on Mailer, at " + s.Settings.BaseURL + ", as " + string(i.Role) + ".\n\n")
	text.WriteString("This link joins it, once, within seven days:\n" + link + "\n")
	text.WriteString("\nIf you did not expect this, leave it be: without you nothing happens.\n")
	s.deliver(ctx, from, i.Address, subject, text.String())
}
