package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/engine"
)

type (
	contactBatchRow struct {
		Object string `json:"object" enum:"contact"`
		Index  int    `json:"index" doc:"The place of the item in the request, from 0"`
		ID     string `json:"id" format:"uuid"`
		Status string `json:"status" enum:"created,updated,skipped"`
	}
	contactBatchCounts struct {
		Created int `json:"created"`
		Updated int `json:"updated"`
		Skipped int `json:"skipped"`
		Failed  int `json:"failed"`
	}
	contactBatchAnswer struct {
		Data   []contactBatchRow   `json:"data" doc:"One row for each item that was accepted, in the order of the request"`
		Counts contactBatchCounts  `json:"counts"`
		Errors []engine.BatchError `json:"errors" doc:"What was not accepted, in permissive batches"`
	}
	missingContact struct {
		Index int    `json:"index" doc:"The place of the entry in the request, from 0"`
		ID    string `json:"id,omitempty"`
		Email string `json:"email,omitempty"`
	}
	foundContacts struct {
		Object  string           `json:"object" enum:"list"`
		Data    []ContactRecord  `json:"data" doc:"In the order of the request"`
		Missing []missingContact `json:"missing" doc:"The entries that match no contact"`
	}
	deletedContacts struct {
		Data []deletedContact `json:"data" doc:"One row for each contact that was deleted"`
	}
)

type getContactsRequest struct {
	Contacts contactRefs `json:"contacts" minItems:"1" maxItems:"1000"`
	Include  includeList `json:"include,omitempty" doc:"properties, topics or both"`
}

type contactRefRequest struct {
	ID    string `json:"id,omitempty" format:"uuid"`
	Email string `json:"email,omitempty"`
}

type removeContactsRequest struct {
	IDs    contactNames `json:"ids,omitempty" maxItems:"1000"`
	Emails contactNames `json:"emails,omitempty" maxItems:"1000"`
	Erase  bool         `json:"erase,omitempty" doc:"Also remove the addresses from what is stored of their mail"`
}

// contactRefs, contactNames and includeList are arrays that stop at the limit
// while they are read.
type (
	contactRefs  []contactRefRequest
	contactNames []string
	includeList  []string
)

const maxInclude = 10 // repeated ones are fine

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *contactRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return decodeList(d, (*[]contactRefRequest)(l), app.MaxContactBatch, "an array of objects")
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *contactNames) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return decodeList(d, (*[]string)(l), app.MaxContactBatch, "an array of strings")
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *includeList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return decodeList(d, (*[]string)(l), maxInclude, "an array of strings")
}

type (
	contactBatchInput struct {
		OnConflict string `query:"on_conflict" enum:"error,skip,upsert" default:"error" doc:"What happens to an item whose address has a contact already, or stood in the batch before"`
		Validation string `header:"x-batch-validation" enum:"strict,permissive" doc:"strict (default): one invalid item refuses the batch; permissive: it is listed in errors and the others are written"`
	}
	contactBatchOutput    struct{ Body contactBatchAnswer }
	foundContactsOutput   struct{ Body foundContacts }
	deletedContactsOutput struct{ Body deletedContacts }
)

func (h *Handler) registerContactBatches() {
	register(h, route{body: true}, huma.Operation{
		OperationID: "put-contacts", Method: http.MethodPost, Path: "/contacts/batch", DefaultStatus: http.StatusCreated,
		Summary: "Create or merge 1 to 1000 contacts", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.putContacts)
	documentBody[[]createContactRequest](h, http.MethodPost, "/contacts/batch")
	least, most := 1, app.MaxContactBatch
	schema := h.api.OpenAPI().Paths["/contacts/batch"].Post.RequestBody.Content["application/json"].Schema
	schema.MinItems, schema.MaxItems = &least, &most
	register(h, route{body: true}, huma.Operation{
		OperationID: "get-contacts", Method: http.MethodPost, Path: "/contacts/batch/get",
		Summary: "Get many contacts by their ids or addresses", Tags: contactTags,
	}, h.getContacts)
	documentBody[getContactsRequest](h, http.MethodPost, "/contacts/batch/get")
	register(h, route{body: true}, huma.Operation{
		OperationID: "remove-contacts", Method: http.MethodPost, Path: "/contacts/batch/remove",
		Summary: "Delete many contacts by their ids or addresses; unknown ones are skipped", Tags: contactTags,
	}, h.removeContacts)
	documentBody[removeContactsRequest](h, http.MethodPost, "/contacts/batch/remove")
}

func (h *Handler) putContacts(ctx context.Context, in *contactBatchInput) (*contactBatchOutput, error) {
	x := exchangeOf(ctx)
	permissive, err := readValidation(in.Validation)
	if err != nil {
		return nil, err
	}
	conflict, err := app.ParseOnConflict(in.OnConflict)
	if err != nil {
		return nil, err
	}
	values, err := splitBatch(x.body, app.MaxContactBatch, "contacts")
	if err != nil {
		return nil, err
	}
	items := make([]engine.ContactItem, len(values))
	for i, value := range values {
		var request createContactRequest
		if items[i].Err = decodeBody(value, &request); items[i].Err == nil {
			items[i].Input, items[i].Err = request.input("")
		}
	}
	result, err := h.service.PutContacts(ctx, x.key, items, conflict, permissive)
	if err != nil {
		return nil, err
	}
	return &contactBatchOutput{newContactBatchAnswer(result)}, nil
}

func newContactBatchAnswer(r *engine.ContactBatchResult) contactBatchAnswer {
	out := contactBatchAnswer{
		Data:   make([]contactBatchRow, len(r.Rows)),
		Counts: contactBatchCounts{Created: r.Created, Updated: r.Updated, Skipped: r.Skipped, Failed: len(r.Errors)},
		Errors: make([]engine.BatchError, len(r.Errors)),
	}
	copy(out.Errors, r.Errors)
	for i, row := range r.Rows {
		out.Data[i] = contactBatchRow{Object: "contact", Index: row.Index, ID: row.ID, Status: row.Status}
	}
	return out
}

func (h *Handler) getContacts(ctx context.Context, _ *struct{}) (*foundContactsOutput, error) {
	x := exchangeOf(ctx)
	var request getContactsRequest
	if err := decodeBody(x.body, &request); err != nil {
		return nil, err
	}
	in := app.ContactRead{Contacts: make([]app.ContactRef, len(request.Contacts)), Include: request.Include}
	for i, ref := range request.Contacts {
		in.Contacts[i] = app.ContactRef{ID: ref.ID, Email: ref.Email}
	}
	found, err := h.service.GetContacts(ctx, x.key, in)
	if err != nil {
		return nil, err
	}
	out := foundContacts{Object: "list", Data: make([]ContactRecord, len(found.Contacts)), Missing: make([]missingContact, len(found.Missing))}
	for i := range found.Contacts {
		out.Data[i] = newContactRecord(&found.Contacts[i], found.Include)
	}
	for i, place := range found.Missing {
		ref := request.Contacts[place]
		out.Missing[i] = missingContact{Index: place, ID: ref.ID, Email: ref.Email}
	}
	return &foundContactsOutput{out}, nil
}

func (h *Handler) removeContacts(ctx context.Context, _ *struct{}) (*deletedContactsOutput, error) {
	x := exchangeOf(ctx)
	var request removeContactsRequest
	if err := decodeBody(x.body, &request); err != nil {
		return nil, err
	}
	ids, err := h.service.RemoveContacts(ctx, x.key, app.ContactRemoval{IDs: request.IDs, Emails: request.Emails, Erase: request.Erase})
	if err != nil {
		return nil, err
	}
	out := deletedContacts{Data: make([]deletedContact, len(ids))}
	for i, id := range ids {
		out.Data[i] = newDeletedContact(id)
	}
	return &deletedContactsOutput{out}, nil
}
