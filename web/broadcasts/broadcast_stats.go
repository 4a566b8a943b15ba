package broadcasts

import (
	"context"
	"net/http"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/broadcasts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// BroadcastRecipientItem is a recipient of a broadcast in a list.
type BroadcastRecipientItem struct {
	ID           string          `json:"id" format:"uuid" doc:"The id of the email, for GET /emails/{id} and its events"`
	ContactID    *string         `json:"contact_id" format:"uuid" doc:"null: the contact was deleted"`
	Email        string          `json:"email"`
	LastEvent    app.LastEvent   `json:"last_event" enum:"queued,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled"`
	State        app.State       `json:"state" enum:"scheduled,queued,deferred,held,captured,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled" doc:"As in GET /emails"`
	Count        int             `json:"count,omitempty" doc:"How often the recipient did it; with type opened or clicked"`
	BounceType   string          `json:"bounce_type,omitempty" enum:"permanent,transient,undetermined" doc:"Of one that bounced; without a type, or with bounced"`
	ClickedLinks []recipientLink `json:"clicked_links,omitempty" doc:"With type clicked, in the order of the content"`
}

type recipientLink struct {
	URL    string `json:"url" doc:"As in the content, with its placeholders"`
	Clicks int64  `json:"clicks"`
}

// ClickedLinkItem is a link of a broadcast in a list.
type ClickedLinkItem struct {
	ID           string `json:"id" format:"uuid"`
	URL          string `json:"url" doc:"As in the content, with its placeholders"`
	Clicks       int64  `json:"clicks"`
	UniqueClicks int64  `json:"unique_clicks" doc:"Recipients who followed it"`
}

type (
	recipientPageInput struct {
		BroadcastPath
		rest.PageParams
		Type       string `query:"type" enum:"sent,delivery_delayed,delivered,opened,not_opened,clicked,not_clicked,bounced,complained,unsubscribed,suppressed,failed,canceled,queued" doc:"Only recipients with this event, whatever happened afterwards; not_opened and not_clicked: of accepted mail that did not bounce; queued: no event yet"`
		Email      string `query:"email" doc:"Only recipients whose address contains this text; case is ignored"`
		BounceType string `query:"bounce_type" enum:"permanent,transient,undetermined" doc:"Of those that bounced; goes with type bounced, or without a type"`
	}
	clickedLinkPageInput struct {
		BroadcastPath
		rest.PageParams
	}
)

// RecipientRoutes are the routes of recipients and links of broadcasts.
type RecipientRoutes struct{ Service *broadcasts.Service }

// Add adds the routes to a handler.
func (r RecipientRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-broadcast-recipients", Method: http.MethodGet, Path: "/broadcasts/{id}/recipients",
		Summary: "List the recipients of a queued or sent broadcast, the last ones sent to first", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listBroadcastRecipients)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-clicked-links", Method: http.MethodGet, Path: "/broadcasts/{id}/clicked-links",
		Summary: "List the links of a broadcast that were clicked, the most clicked first", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listClickedLinks)
}

func (r RecipientRoutes) listBroadcastRecipients(ctx context.Context, key *app.Key, in *recipientPageInput) (*rest.ListOutput[BroadcastRecipientItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	q := app.RecipientQuery{Type: in.Type, Email: in.Email, Bounce: app.BounceType(in.BounceType)}
	rows, more, err := r.Service.ListBroadcastRecipients(ctx, key, in.ID, q, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newBroadcastRecipientItem), nil
}

func (r RecipientRoutes) listClickedLinks(ctx context.Context, key *app.Key, in *clickedLinkPageInput) (*rest.ListOutput[ClickedLinkItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListClickedLinks(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(l *app.BroadcastLink) ClickedLinkItem {
		return ClickedLinkItem{ID: l.ID, URL: l.URL, Clicks: l.Clicks, UniqueClicks: l.People}
	}), nil
}

func newBroadcastRecipientItem(r *app.RecipientRow) BroadcastRecipientItem {
	item := BroadcastRecipientItem{
		ID: r.ID, ContactID: base.TextOrNull(r.ContactID), Email: r.Email, LastEvent: r.LastEvent, State: r.State, Count: r.Count, BounceType: strings.ToLower(string(r.Bounce)),
	}
	for _, l := range r.Links {
		item.ClickedLinks = append(item.ClickedLinks, recipientLink{URL: l.URL, Clicks: l.Clicks})
	}
	return item
}
