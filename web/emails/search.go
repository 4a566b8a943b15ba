package emails

import (
	"context"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/shapes"
)

// searchInput are the filters of a list of emails. They are strings, so that invalid values get the
// API's own error texts.
type searchInput struct {
	rest.PageParams
	To            string `query:"to" doc:"A recipient (to, cc or bcc): an address, the beginning of one like ann or ann*, or @example.com. A complete address is found fastest" example:"ann@example.com"`
	From          string `query:"from" doc:"The sender, in the forms of to"`
	Subject       string `query:"subject" doc:"A part of the subject; case of a to z is ignored"`
	Status        string `query:"status" doc:"One or several values of last_event, with commas between them" example:"bounced,failed"`
	State         string `query:"state" doc:"One or several states, with commas between them. deferred and held are found fastest" example:"deferred,held"`
	Domain        string `query:"domain" doc:"The domain of the sender"`
	Tag           string `query:"tag" doc:"A tag: name, name:value or name=value"`
	Source        string `query:"source" enum:"account,api,cli,dashboard,mcp,resend,smtp" doc:"How the email came in; account: mail about accounts; resend: sent again"`
	KeyID         string `query:"key_id" format:"uuid" doc:"The id of the API key or member that sent the email"`
	BroadcastID   string `query:"broadcast_id" format:"uuid" doc:"List the emails of this broadcast, which no other list contains. Allows no other filter"`
	CreatedAfter  string `query:"created_after" doc:"A time (RFC 3339)" example:"2026-01-31T12:00:00.000Z"`
	CreatedBefore string `query:"created_before" doc:"A time (RFC 3339)" example:"2026-01-31T12:00:00.000Z"`
	Include       string `query:"include" enum:"reason" csv:"reason" doc:"reason: add the event that caused the state of each email. CSV always includes it"`
}

func (in *searchInput) query() mail.SearchQuery {
	return mail.SearchQuery{To: in.To, From: in.From, Subject: in.Subject, Status: in.Status, State: in.State, Domain: in.Domain, Tag: in.Tag, Source: in.Source,
		KeyID: in.KeyID, BroadcastID: in.BroadcastID, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore}
}

// listedEmail is an email in a list.
type listedEmail struct {
	EmailItem
	Reason *shapes.EventItem `json:"reason,omitempty" doc:"Where include names it"`
}

func (r Routes) listEmails(ctx context.Context, key *app.Key, in *searchInput) (*rest.SearchOutput[listedEmail], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	if in.Include != "" && in.Include != "reason" {
		return nil, app.Invalid("include", "can be reason")
	}
	var found mail.FoundEmails
	var searched *rest.SearchedTo
	if q := in.query(); q == (mail.SearchQuery{}) {
		found.Emails, found.More, err = r.Service.ListEmails(ctx, key, page)
	} else {
		var got *mail.FoundEmails
		if got, err = r.Search.Emails(ctx, key, q, page); err == nil {
			found, searched = *got, &rest.SearchedTo{ID: got.SearchedTo}
		}
	}
	if err != nil {
		return nil, err
	}
	var reasons map[string]app.Event
	if in.Include != "" {
		if reasons, err = r.Search.Reasons(ctx, found.Emails); err != nil {
			return nil, err
		}
	}
	return rest.NewSearch(found.Emails, found.More, searched, func(e *app.Email) listedEmail {
		out := listedEmail{EmailItem: newEmailItem(e)}
		if why, ok := reasons[e.ID]; ok {
			item := shapes.NewEventItem(&why)
			out.Reason = &item
		}
		return out
	}), nil
}
