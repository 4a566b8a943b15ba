package emails

import (
	"context"

	"mailer/app"
	"mailer/app/mail"
	"mailer/db"
	"mailer/web/rest"
)

// SearchService finds emails.
type SearchService interface {
	Emails(ctx context.Context, key *app.Key, q mail.SearchQuery, page app.Page) (*db.FoundEmails, error)
}

// searchInput are the filters of a list of emails. They are strings, so that a bad one is
// refused in our words.
type searchInput struct {
	rest.PageParams
	To            string `query:"to" doc:"Whom it went to (to, cc or bcc): an address, the beginning of one like ann or ann*, or @example.com. A whole address is found by index" example:"ann@example.com"`
	From          string `query:"from" doc:"Its sender, as with to"`
	Subject       string `query:"subject" doc:"A part of its subject; upper and lower case of a to z are the same"`
	Status        string `query:"status" enum:"queued,scheduled,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled" doc:"Its last_event"`
	Domain        string `query:"domain" doc:"The domain of its sender"`
	Tag           string `query:"tag" doc:"One of its tags: name, or name:value"`
	Source        string `query:"source" enum:"api,cli,dashboard,mcp,resend,smtp" doc:"How it came; resend: sent once more"`
	KeyID         string `query:"key_id" format:"uuid" doc:"The API key, or the person, that sent it"`
	BroadcastID   string `query:"broadcast_id" format:"uuid" doc:"The emails of a broadcast to its recipients, which no other list has. It stands alone"`
	CreatedAfter  string `query:"created_after" format:"date-time"`
	CreatedBefore string `query:"created_before" format:"date-time"`
}

func (in *searchInput) query() mail.SearchQuery {
	return mail.SearchQuery{To: in.To, From: in.From, Subject: in.Subject, Status: in.Status, Domain: in.Domain, Tag: in.Tag, Source: in.Source,
		KeyID: in.KeyID, BroadcastID: in.BroadcastID, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore}
}

func (r Routes) listEmails(ctx context.Context, key *app.Key, in *searchInput) (*rest.SearchOutput[EmailItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	q := in.query()
	if q == (mail.SearchQuery{}) {
		emails, more, err := r.Service.ListEmails(ctx, key, page)
		if err != nil {
			return nil, err
		}
		return rest.NewSearch(emails, more, nil, newEmailItem), nil
	}
	found, err := r.Search.Emails(ctx, key, q, page)
	if err != nil {
		return nil, err
	}
	return rest.NewSearch(found.Emails, found.More, &rest.SearchedTo{ID: found.SearchedTo}, newEmailItem), nil
}
