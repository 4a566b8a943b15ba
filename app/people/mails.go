package people

import (
	"context"
	"errors"
	"strings"

	"mailer/app"
	"mailer/db"
)

// Sender accepts an email of a team.
type Sender func(ctx context.Context, key *app.Key, in *app.EmailInput) error

// sender is who mail of Mailer's own is from, at a verified domain.
const sender = "Mailer <mailer@"

// Mailed returns the Post that sends by a Sender: from a verified domain of the team of
// the person, or else of the first team, which is the operator's, and not at all where
// neither has one. It counts as any mail of the team whose domain it is from. What fails
// is logged without the text: nobody's account waits for a mail.
func (s *Service) Mailed(send Sender) Post {
	return func(ctx context.Context, team, to, subject, text string) {
		team, domain, err := s.mailDomain(ctx, team)
		if errors.Is(err, db.ErrNotFound) {
			return
		}
		if err == nil {
			key := &app.Key{TeamID: team, Permission: app.FullAccess, Role: app.RoleOwner}
			err = send(ctx, key, &app.EmailInput{From: sender + domain + ">", To: []string{to}, Subject: subject, Text: &text})
		}
		if err != nil {
			s.Log.Warn("a mail to a person was not accepted", "subject", subject, "err", err)
		}
	}
}

// mailDomain returns a verified domain, and whose it is. Error: db.ErrNotFound.
func (s *Service) mailDomain(ctx context.Context, team string) (of, domain string, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if team != "" {
			of = team
			if domain, err = r.VerifiedDomain(team); !errors.Is(err, db.ErrNotFound) {
				return err
			}
		}
		first, err := r.FindTeam("")
		if err != nil {
			return err
		}
		of = first.ID
		domain, err = r.VerifiedDomain(of)
		return err
	})
	return of, domain, err
}

// mailInvitation tells somebody that he was invited. The link of a role that manages the
// team is left out: what a team sends can be read by all of its members, and none of them
// may rise by another's invitation.
func (s *Service) mailInvitation(ctx context.Context, i *Invitation, link string) {
	if s.Post == nil {
		return
	}
	var text strings.Builder
	text.WriteString("You were invited to join the team " + i.TeamName + " on Mailer, as " + string(i.Role) + ".\n\n")
	if i.Role.Manages() {
		text.WriteString("Whoever invited you has the link by which you join: ask for it.\n")
	} else {
		text.WriteString("This link joins it, once, within seven days:\n" + link + "\n")
	}
	text.WriteString("\nIf you did not expect this, leave it be.\n")
	s.Post(context.WithoutCancel(ctx), i.TeamID, i.Address, "You were invited to "+i.TeamName, text.String())
}
