package audience

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// SuppressionItem is a suppression in a list.
type SuppressionItem struct {
	ID        string                `json:"id" format:"uuid"`
	Email     string                `json:"email"`
	Origin    app.SuppressionOrigin `json:"origin" enum:"bounce,complaint,manual,unsubscribe"`
	SourceID  *string               `json:"source_id" format:"uuid" doc:"What led to it, where something did"`
	CreatedAt string                `json:"created_at" format:"date-time"`
}

type suppressionRecord struct {
	Object string `json:"object" enum:"suppression"`
	SuppressionItem
}

type suppressionRef struct {
	Object string `json:"object" enum:"suppression"`
	ID     string `json:"id" format:"uuid"`
}

type removedSuppression struct {
	Object  string `json:"object" enum:"suppression"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

type addedSuppressions struct {
	Data []suppressionRef `json:"data" doc:"One row for each address of the request, in its order"`
}

type removedSuppressions struct {
	Data []removedSuppression `json:"data" doc:"One row for each suppression that was on the list"`
}

// suppressionItems is an array whose length is checked while it is decoded.
type suppressionItems []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *suppressionItems) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]string)(l), app.MaxSuppressionBatch, "an array of strings")
}

type addSuppressionRequest struct {
	Email  string                `json:"email" doc:"An address without a display name"`
	Origin app.SuppressionOrigin `json:"origin,omitempty" enum:"bounce,complaint,manual,unsubscribe" default:"manual"`
}

type addSuppressionsRequest struct {
	Emails suppressionItems      `json:"emails" minItems:"1" maxItems:"1000"`
	Origin app.SuppressionOrigin `json:"origin,omitempty" enum:"bounce,complaint,manual,unsubscribe" default:"manual"`
}

type removeSuppressionsRequest struct {
	Emails suppressionItems `json:"emails,omitempty" maxItems:"1000" doc:"Addresses; either these or ids"`
	IDs    suppressionItems `json:"ids,omitempty" maxItems:"1000"`
}

// SuppressionPath is the path parameter of one suppression.
type SuppressionPath struct {
	ID string `path:"id" doc:"The id of the suppression, or its email address, percent-encoded"`
}

// Resource implements rest.ResourcePath.
func (p *SuppressionPath) Resource() (kind string, id *string) { return "", &p.ID }

type (
	suppressionPageInput struct {
		rest.PageParams
		Origin string `query:"origin" enum:"bounce,complaint,manual,unsubscribe" doc:"Only suppressions of this origin"`
		Email  string `query:"email" doc:"Only the suppression of this address"`
	}
	suppressionOutput         = rest.Output[suppressionRecord]
	removedSuppressionOutput  struct{ Body removedSuppression }
	addedSuppressionsOutput   struct{ Body addedSuppressions }
	removedSuppressionsOutput struct{ Body removedSuppressions }
)

var suppressionTags = []string{"Suppressions"}

// SuppressionRoutes are the routes of suppressions.
type SuppressionRoutes struct{ Service *audience.Suppressions }

// Add adds the routes to a handler.
func (r SuppressionRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "add-suppression", Method: http.MethodPost, Path: "/suppressions", DefaultStatus: http.StatusCreated,
		Summary: "Suppress an address: the team sends it no more mail", Tags: suppressionTags,
	}, r.addSuppression)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-suppressions", Method: http.MethodGet, Path: "/suppressions",
		Summary: "List suppressed addresses with the reason of each, newest first", Tags: suppressionTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listSuppressions)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-suppression", Method: http.MethodGet, Path: "/suppressions/{id}",
		Summary: "Get a suppression by id or address", Tags: suppressionTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*SuppressionPath](r.Service.GetSuppression, newSuppressionRecord))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "remove-suppression", Method: http.MethodDelete, Path: "/suppressions/{id}",
		Summary: "Remove a suppression by id or address, so that the address gets mail again", Tags: suppressionTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.removeSuppression)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "add-suppressions", Method: http.MethodPost, Path: "/suppressions/batch/add", DefaultStatus: http.StatusCreated,
		Summary: "Suppress several addresses", Tags: suppressionTags,
	}, r.addSuppressions)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "remove-suppressions", Method: http.MethodPost, Path: "/suppressions/batch/remove",
		Summary: "Remove several suppressions by address or id; unknown ones are skipped", Tags: suppressionTags,
	}, r.removeSuppressions)
}

func (r SuppressionRoutes) addSuppression(ctx context.Context, key *app.Key, _ *struct{}, request *addSuppressionRequest) (*suppressionOutput, error) {
	return rest.Answer(newSuppressionRecord)(r.Service.AddSuppression(ctx, key, app.SuppressionInput{Email: request.Email, Origin: request.Origin}))
}

func (r SuppressionRoutes) addSuppressions(ctx context.Context, key *app.Key, _ *struct{}, request *addSuppressionsRequest) (*addedSuppressionsOutput, error) {
	added, err := r.Service.AddSuppressions(ctx, key, app.SuppressionBatch{Emails: request.Emails, Origin: request.Origin})
	if err != nil {
		return nil, err
	}
	out := &addedSuppressionsOutput{addedSuppressions{make([]suppressionRef, len(added))}}
	for i := range added {
		out.Body.Data[i] = suppressionRef{Object: "suppression", ID: added[i].ID}
	}
	return out, nil
}

func (r SuppressionRoutes) listSuppressions(ctx context.Context, key *app.Key, in *suppressionPageInput) (*rest.ListOutput[SuppressionItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	if in.Email != "" {
		return r.suppressionOf(ctx, key, in)
	}
	rows, more, err := r.Service.ListSuppressions(ctx, key, app.SuppressionOrigin(in.Origin), page)
	if err != nil {
		return nil, err
	}
	out := rest.NewList(rows, more, newSuppressionItem)
	if in.Origin != "" {
		return out, nil
	}
	total, err := r.Service.CountSuppressions(ctx, key)
	return out.WithTotal(&total), err
}

// suppressionOf answers a list with the suppression of one address.
func (r SuppressionRoutes) suppressionOf(ctx context.Context, key *app.Key, in *suppressionPageInput) (*rest.ListOutput[SuppressionItem], error) {
	if _, _, err := app.ParseBareAddress(in.Email); err != nil {
		return nil, app.Invalid("email", "must be an address")
	}
	var rows []app.Suppression
	s, err := r.Service.GetSuppression(ctx, key, in.Email)
	switch {
	case err == nil && (in.Origin == "" || in.Origin == string(s.Origin)):
		rows = append(rows, s)
	case err != nil && app.CodeOf(err) != app.CodeNotFound:
		return nil, err
	}
	return rest.NewList(rows, false, newSuppressionItem), nil
}

func (r SuppressionRoutes) removeSuppression(ctx context.Context, key *app.Key, in *SuppressionPath) (*removedSuppressionOutput, error) {
	id, err := r.Service.RemoveSuppression(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &removedSuppressionOutput{removedSuppression{Object: "suppression", ID: id, Deleted: true}}, nil
}

func (r SuppressionRoutes) removeSuppressions(ctx context.Context, key *app.Key, _ *struct{}, request *removeSuppressionsRequest) (*removedSuppressionsOutput, error) {
	ids, err := r.Service.RemoveSuppressions(ctx, key, app.SuppressionRemoval{Emails: request.Emails, IDs: request.IDs})
	if err != nil {
		return nil, err
	}
	out := &removedSuppressionsOutput{removedSuppressions{make([]removedSuppression, len(ids))}}
	for i, id := range ids {
		out.Body.Data[i] = removedSuppression{Object: "suppression", ID: id, Deleted: true}
	}
	return out, nil
}

func newSuppressionItem(s *app.Suppression) SuppressionItem {
	return SuppressionItem{ID: s.ID, Email: s.Email, Origin: s.Origin, SourceID: base.TextOrNull(s.SourceID), CreatedAt: app.FormatTime(s.CreatedAt)}
}

func newSuppressionRecord(s *app.Suppression) suppressionRecord {
	return suppressionRecord{Object: "suppression", SuppressionItem: newSuppressionItem(s)}
}
