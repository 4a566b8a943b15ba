package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// DoubtItem is a transaction with a relay whose outcome is or was unknown.
type DoubtItem struct {
	ID        string   `json:"id" format:"uuid"`
	Team      string   `json:"team,omitempty" format:"uuid" doc:"Whose it is, where an operator asks about all teams"`
	EmailID   string   `json:"email_id" format:"uuid"`
	Broadcast *string  `json:"broadcast" format:"uuid" doc:"The broadcast that it belongs to; null: an email"`
	MessageID *string  `json:"message_id" doc:"By which the relay's log knows it; null: it was deleted"`
	To        []string `json:"to"`
	Relay     string   `json:"relay"`
	CreatedAt string   `json:"created_at" format:"date-time"`
	SettledAt *string  `json:"settled_at" format:"date-time" doc:"null: it is open"`
	Settled   *string  `json:"settled" doc:"How the outcome was settled, as text; null: unknown"`
}

type doubtsInput struct {
	rest.PageParams
	Team string `query:"team" doc:"Name or id, where an operator asks about all teams"`
}

func (r QueueRoutes) addDoubts(h *rest.Handler) {
	rest.Register(h, rest.Route{AllTeams: true}, openapi.Operation{
		OperationID: "list-doubts", Method: http.MethodGet, Path: "/queue/doubts",
		Summary: "List SMTP transactions whose outcome at the relay is or was unknown, newest first", Tags: queueTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.doubts)
}

func (r QueueRoutes) doubts(ctx context.Context, key *app.Key, in *doubtsInput) (*rest.ListOutput[DoubtItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	team, err := teamOfKey(key, in.Team)
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.Doubts(ctx, team, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(d *app.Doubt) DoubtItem {
		item := DoubtItem{ID: d.ID, EmailID: d.EmailID, Broadcast: base.TextOrNull(d.BroadcastID), MessageID: base.TextOrNull(d.MessageID), To: append([]string{}, d.Recipients...),
			Relay: d.Relay, CreatedAt: app.FormatTime(d.CreatedAt), SettledAt: app.FormatTimePtr(d.SettledAt), Settled: base.TextOrNull(d.Settled)}
		if key.TeamID == "" {
			item.Team = d.TeamID
		}
		return item
	}), nil
}
