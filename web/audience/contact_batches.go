package audience

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
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
		Data   []contactBatchRow  `json:"data" doc:"One row for each item that was accepted, in the order of the request"`
		Counts contactBatchCounts `json:"counts"`
		Errors []app.BatchError   `json:"errors" doc:"What was not accepted, in permissive batches"`
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
	Erase  bool         `json:"erase,omitempty" doc:"Also erase the addresses from address fields, events and logs, and mail to them alone"`
}

// Arrays whose length is checked while they are decoded.
type (
	contactRefs  []contactRefRequest
	contactNames []string
	includeList  []string
)

const maxInclude = 10 // repeated values are allowed

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *contactRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]contactRefRequest)(l), app.MaxContactBatch, "an array of objects")
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *contactNames) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]string)(l), app.MaxContactBatch, "an array of strings")
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *includeList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]string)(l), maxInclude, "an array of strings")
}

type (
	contactBatchInput struct {
		OnConflict         string `query:"on_conflict" enum:"error,skip,upsert" default:"error" doc:"What to do with items whose address has a contact or is in the batch twice"`
		Validation         string `header:"x-batch-validation" enum:"strict,permissive" doc:"strict (default): one invalid item refuses the batch; permissive: it is listed in errors and the others are written"`
		TriggerAutomations string `query:"trigger_automations" enum:"true,false" doc:"Start automations"`

		permissive bool
		conflict   app.OnConflict
		triggers   bool
	}
	contactBatchOutput    struct{ Body contactBatchAnswer }
	foundContactsOutput   struct{ Body foundContacts }
	deletedContactsOutput struct{ Body deletedContacts }
)

// Check implements Checker.
func (in *contactBatchInput) Check() (err error) {
	if in.permissive, err = shapes.ReadValidation(in.Validation); err != nil {
		return err
	}
	if in.triggers, err = readTriggers(in.TriggerAutomations); err != nil {
		return err
	}
	in.conflict, err = app.ParseOnConflict(in.OnConflict)
	return err
}

// putContactsRequest is the body of POST /contacts/batch.
type putContactsRequest struct {
	items []shapes.BatchItem[createContactRequest]
}

// DecodeBody implements BodyDecoder.
func (r *putContactsRequest) DecodeBody(body []byte) (err error) {
	r.items, err = shapes.DecodeBatch[createContactRequest](body, app.MaxContactBatch, "contacts")
	return err
}

// Schema implements openapi.SchemaProvider.
func (putContactsRequest) Schema(r *openapi.Registry) *openapi.Schema {
	return shapes.BatchSchema[createContactRequest](r, app.MaxContactBatch)
}

func (r ContactRoutes) addBatches(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "put-contacts", Method: http.MethodPost, Path: "/contacts/batch", DefaultStatus: http.StatusCreated,
		Summary: fmt.Sprintf("Create or update 1 to %d contacts", app.MaxContactBatch), Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.putContacts)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "get-contacts", Method: http.MethodPost, Path: "/contacts/batch/get",
		Summary: "Get several contacts by id or address", Tags: contactTags,
	}, r.getContacts)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "remove-contacts", Method: http.MethodPost, Path: "/contacts/batch/remove",
		Summary: "Delete several contacts by id or address; unknown ones are skipped", Tags: contactTags,
	}, r.removeContacts)
}

func (r ContactRoutes) putContacts(ctx context.Context, key *app.Key, in *contactBatchInput, request *putContactsRequest) (*contactBatchOutput, error) {
	items := make([]audience.ContactItem, len(request.items))
	for i := range request.items {
		item := &request.items[i]
		if items[i].Err = item.Err; item.Err == nil {
			items[i].Input, items[i].Err = item.Value.input("")
		}
	}
	put := r.Service.PutContacts
	if in.triggers {
		put = r.Service.PutContactsAndTrigger
	}
	result, err := put(ctx, key, items, in.conflict, in.permissive)
	if err != nil {
		return nil, err
	}
	return &contactBatchOutput{newContactBatchAnswer(result)}, nil
}

func newContactBatchAnswer(r *audience.ContactBatchResult) contactBatchAnswer {
	out := contactBatchAnswer{
		Data:   make([]contactBatchRow, len(r.Rows)),
		Counts: contactBatchCounts{Created: r.Created, Updated: r.Updated, Skipped: r.Skipped, Failed: len(r.Errors)},
		Errors: make([]app.BatchError, len(r.Errors)),
	}
	copy(out.Errors, r.Errors)
	for i, row := range r.Rows {
		out.Data[i] = contactBatchRow{Object: "contact", Index: row.Index, ID: row.ID, Status: row.Status}
	}
	return out
}

func (r ContactRoutes) getContacts(ctx context.Context, key *app.Key, _ *struct{}, request *getContactsRequest) (*foundContactsOutput, error) {
	in := app.ContactRead{Contacts: make([]app.ContactRef, len(request.Contacts)), Include: request.Include}
	for i, ref := range request.Contacts {
		in.Contacts[i] = app.ContactRef{ID: ref.ID, Email: ref.Email}
	}
	found, err := r.Service.GetContacts(rest.WithBudget(ctx), key, in)
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

func (r ContactRoutes) removeContacts(ctx context.Context, key *app.Key, _ *struct{}, request *removeContactsRequest) (*deletedContactsOutput, error) {
	ids, err := r.Service.RemoveContacts(ctx, key, app.ContactRemoval{IDs: request.IDs, Emails: request.Emails, Erase: request.Erase})
	if err != nil {
		return nil, err
	}
	out := deletedContacts{Data: make([]deletedContact, len(ids))}
	for i, id := range ids {
		out.Data[i] = newDeletedContact(id)
	}
	return &deletedContactsOutput{out}, nil
}
