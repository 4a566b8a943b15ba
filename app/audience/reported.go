package audience

import (
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/feedback"
	"mailer/app/webhook"
	"mailer/db"
)

// SuppressFor puts an address on the list because of what came of an email, or
// gives the suppression that stands there the graver reason. listed is the
// address as lists show it; empty: it was erased, and is not shown.
func (s *Service) SuppressFor(tx *db.Tx, teamID, emailID, address, listed string, origin app.SuppressionOrigin) error {
	fresh := app.Suppression{ID: app.NewID(), TeamID: teamID, Email: listed, Hash: s.Sealer.AddressHash(teamID, address),
		Origin: origin, SourceID: emailID, CreatedAt: tx.Now}
	suppression, err := tx.AddSuppression(fresh)
	if err != nil {
		return err
	}
	if suppression.ID != fresh.ID {
		if !suppression.Origin.GivesWayTo(origin) {
			return nil
		}
		if err := tx.ReplaceOrigin(teamID, suppression.ID, origin, emailID); err != nil {
			return fmt.Errorf("replace origin: %w", err)
		}
		suppression.Origin, suppression.SourceID = origin, emailID
	}
	if suppression.Email == "" {
		suppression.Email = erasedEmail
	}
	return s.announceSuppression(tx, webhook.SuppressionAdded, &suppression)
}

// SuppressRefused does the same for a recipient that the relay refused by name,
// by the same rule.
func (s *Service) SuppressRefused(tx *db.Tx, u app.Unit, v app.RecipientResult) error {
	if !HardRefusal(v) {
		return nil
	}
	return s.SuppressFor(tx, u.TeamID, u.EmailID, app.FoldAddress(v.Address), strings.ToLower(v.Address), app.OriginBounce)
}

// HardRefusal tells whether a refusal by name proves that mail to the recipient is
// pointless. Our own refusal proves nothing.
func HardRefusal(v app.RecipientResult) bool {
	return v.Reply.Code/100 == 5 && feedback.Suppresses(feedback.Report{Kind: feedback.Bounced, Bounce: app.BouncePermanent, Enhanced: v.Reply.Enhanced})
}
