package signup

import (
	"context"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

func (s *Service) now() time.Time { return clock.Now() }

// consentOf returns the record of what an opt-in asked for. topics are those that the page showed, of
// which chosen are agreed to.
func consentOf(o *db.OptIn, topics []FormTopic, chosen []string) app.ConsentRecord {
	r := app.ConsentRecord{Email: o.Email, Form: o.Request.FormName, FormVersion: o.FormVersion, Text: o.Request.Text, Language: o.Request.Language, RequestedAt: o.RequestedAt, RequestedBy: o.Request.Visitor}
	for _, t := range topics {
		if slices.Contains(chosen, t.ID) {
			r.Topics = append(r.Topics, app.ConsentItem{ID: t.ID, Name: t.Name})
		}
	}
	return r
}

// insertConsent stores what a contact agreed to. The opt-in is named in it unless its form asks for no
// confirmation.
func (s *Service) insertConsent(tx *db.Tx, o *db.OptIn, record app.ConsentRecord, contactID string) error {
	c := &app.Consent{ID: app.NewID(), TeamID: o.TeamID, ContactID: contactID, FormID: o.FormID, Record: record, CreatedAt: tx.Now}
	if !record.ConfirmedAt.IsZero() {
		c.OptInID = o.ID
	}
	return tx.InsertConsent(c)
}

// ListConsents returns a page of the consents of a contact, named by id or address, newest first, and
// whether there are more. Errors: CodeNotFound; CodeValidation for an unknown cursor.
func (s *Service) ListConsents(ctx context.Context, key *app.Key, contact string, page app.Page) (rows []app.Consent, more bool, err error) {
	c, err := s.audience.GetContact(ctx, key, contact)
	if err != nil {
		return nil, false, err
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Consent, bool, error) { return r.ListConsents(key.TeamID, c.ID, page) })
	return rows, more, base.Cursor(page, err)
}
