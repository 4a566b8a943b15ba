package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// ContactMailItem is an email to a contact, or a received one from it, and its events.
type ContactMailItem struct {
	ID          string             `json:"id" format:"uuid" doc:"Of the email, of the recipient's mail of a broadcast, or of a received email (state received)"`
	BroadcastID *string            `json:"broadcast_id" format:"uuid" doc:"null: an email"`
	AnswersID   *string            `json:"answers_email_id,omitempty" format:"uuid" doc:"Of a received email: the email that it answers, or claims to"`
	Subject     string             `json:"subject" doc:"Of a broadcast with its placeholders"`
	CreatedAt   string             `json:"created_at" format:"date-time"`
	LastEvent   app.LastEvent      `json:"last_event" enum:"queued,scheduled,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled,received"`
	State       app.State          `json:"state" enum:"scheduled,queued,deferred,held,captured,sent,delivery_delayed,delivered,opened,clicked,bounced,complained,suppressed,failed,canceled,received" doc:"As in GET /emails; received: the contact wrote it, see GET /emails/receiving/{id}"`
	Events      []shapes.EventItem `json:"events" doc:"The newest first, twenty at most: about the contact or the whole email"`
}

type contactEventsInput struct {
	ContactPath
	Limit  rest.PageLimit `query:"limit" doc:"Rows per page"`
	After  string         `query:"after" format:"uuid" doc:"The searched_to of the page before: older rows follow"`
	Before string         `query:"before" format:"uuid" doc:"The id of the first row, or the searched_to of the page after: newer rows come"`
}

func (r PreviewRoutes) addHistory(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-events", Method: http.MethodGet, Path: "/contacts/{id}/events",
		Summary: "List all emails to a contact with what happened to each, and those received from it, newest first", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listContactEvents)
}

func (r PreviewRoutes) listContactEvents(ctx context.Context, key *app.Key, in *contactEventsInput) (*rest.SearchOutput[ContactMailItem], error) {
	page, err := rest.PageParams{Limit: in.Limit, After: in.After, Before: in.Before}.Page()
	if err != nil {
		return nil, err
	}
	found, err := r.Service.ContactHistory(ctx, key, in.ContactPath.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewSearch(found.Mail, found.More, &rest.SearchedTo{ID: found.SearchedTo}, newContactMailItem), nil
}

func newContactMailItem(m *audience.ContactMail) ContactMailItem {
	item := ContactMailItem{
		ID: m.ID, BroadcastID: base.TextOrNull(m.BroadcastID), AnswersID: base.TextOrNull(m.Answers), Subject: m.Subject, CreatedAt: app.FormatTime(m.CreatedAt),
		LastEvent: m.LastEvent, State: m.State, Events: make([]shapes.EventItem, len(m.Events)),
	}
	for i := range m.Events {
		item.Events[i] = shapes.NewEventItem(&m.Events[i])
	}
	return item
}
