package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// ContactItem is a contact in a list.
type ContactItem struct {
	ID           string                     `json:"id" format:"uuid"`
	Email        string                     `json:"email"`
	FirstName    *string                    `json:"first_name"`
	LastName     *string                    `json:"last_name"`
	CreatedAt    string                     `json:"created_at" format:"date-time"`
	Unsubscribed bool                       `json:"unsubscribed" doc:"From everything that is marketing"`
	Properties   map[string]ContactProperty `json:"properties,omitzero" doc:"In lists where include names them"`
	Topics       []ContactTopicItem         `json:"topics,omitzero" doc:"In lists where include names them"`
}

// ContactRecord is a single contact.
type ContactRecord struct {
	Object string `json:"object" enum:"contact"`
	ContactItem
}

// ContactProperty is the value that a contact has for a property.
type ContactProperty struct {
	Type  app.PropertyType `json:"type" enum:"string,number"`
	Value any              `json:"value" doc:"A string or a number"`
}

// contactDetail is the answer to GET of a contact.
type contactDetail struct {
	ContactRecord
	Suppression *ContactSuppression `json:"suppression,omitzero" doc:"Why nothing, or with the origin unsubscribe no marketing, is sent to the address; absent: it is not suppressed"`
}

// ContactSuppression is the suppression of a contact's address.
type ContactSuppression struct {
	ID        string                `json:"id" format:"uuid"`
	Origin    app.SuppressionOrigin `json:"origin" enum:"bounce,complaint,manual,unsubscribe"`
	SourceID  *string               `json:"source_id" format:"uuid" doc:"What led to it, where something did"`
	CreatedAt string                `json:"created_at" format:"date-time"`
}

type contactRef struct {
	Object string `json:"object" enum:"contact"`
	ID     string `json:"id" format:"uuid"`
}

type deletedContact struct {
	Object  string `json:"object" enum:"contact"`
	Contact string `json:"contact" format:"uuid" doc:"Its id"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// ContactPath is the path parameter of everything below a contact.
type ContactPath struct {
	ID string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
}

// AudiencePath is the path parameter of a segment under its former name.
type AudiencePath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the segment"`
}

// Resource implements rest.ResourcePath.
func (p *AudiencePath) Resource() (kind string, id *string) { return "audience", &p.ID }

// AudienceContactPath are the path parameters of a contact below an audience.
type AudienceContactPath struct {
	AudiencePath
	ContactID string `path:"contact_id" doc:"The id of the contact, or its email address, percent-encoded"`
}

// ContactListParams are the query parameters of every list of contacts.
type ContactListParams struct {
	rest.PageParams
	Include string `query:"include" doc:"Fields to add to each row: properties, topics, or both with a comma"`
}

// EraseParam is the query parameter of every deletion of a contact.
type EraseParam struct {
	Erase queryFlag `query:"erase" doc:"Also erase the address from address fields, events and logs, and mail to it alone"`
}

// queryFlag is documented as a boolean and read as text.
type queryFlag string

// Schema implements openapi.SchemaProvider.
func (queryFlag) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: openapi.TypeBoolean, Default: false}
}

// read returns the value; empty is false. Errors: CodeValidation naming the field.
func (f queryFlag) read(field string) (bool, error) {
	switch f {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, app.Invalid(field, "must be true or false")
}

// ConflictParam is the query parameter of routes that create one contact.
type ConflictParam struct {
	OnConflict string `query:"on_conflict" enum:"error,skip,upsert" doc:"What to do if the address has a contact: error refuses, skip leaves its fields unchanged, upsert updates them. Skip and upsert add it to the given segments and topics; neither subscribes it again"`

	conflict app.OnConflict
}

// Check implements Checker.
func (p *ConflictParam) Check() (err error) {
	if p.OnConflict != "" {
		p.conflict, err = app.ParseOnConflict(p.OnConflict)
	}
	return err
}

type (
	contactPageInput struct {
		ContactListParams
		SegmentID string `query:"segment_id" format:"uuid" doc:"Only the contacts of this segment"`
		TopicID   string `query:"topic_id" format:"uuid" doc:"Only contacts who are subscribed to this topic, by choice or by default"`
		State     string `query:"state" enum:"subscribed,unsubscribed,suppressed" doc:"Only contacts who are subscribed, unsubscribed from all mail, or suppressed"`
		Search    string `query:"search" doc:"Only contacts whose address or name contains this, in upper or lower case; a complete address finds its contact"`
	}
	segmentContactsInput struct {
		ID string `path:"id" format:"uuid" doc:"The id of the segment"`
		ContactListParams
	}
	deleteContactInput struct {
		ContactPath
		EraseParam
	}
	deleteAudienceContactInput struct {
		AudienceContactPath
		EraseParam
	}
	createContactInput struct{ ConflictParam }
	putContactOutput   struct {
		Status int
		Body   contactRef
	}
	contactOutput        struct{ Body contactDetail }
	contactRefOutput     struct{ Body contactRef }
	deletedContactOutput struct{ Body deletedContact }
)

var contactTags = []string{"Contacts"}

// ContactRoutes are the routes of contacts.
type ContactRoutes struct {
	Service      *audience.Service
	Previews     *audience.Previews
	Suppressions interface {
		GetSuppression(ctx context.Context, key *app.Key, idOrEmail string) (app.Suppression, error)
	}
}

// Add adds the routes to a handler.
func (r ContactRoutes) Add(h *rest.Handler) {
	documentExisting(h, rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-contact", Method: http.MethodPost, Path: "/contacts", DefaultStatus: http.StatusCreated,
		Summary: "Create a contact", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.createContact))
	rest.Register(h, rest.Route{FreshExport: true}, openapi.Operation{
		OperationID: "list-contacts", Method: http.MethodGet, Path: "/contacts",
		Summary: "List contacts, newest first, or search them", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listContacts)
	rest.Register(h, rest.Route{FreshExport: true}, openapi.Operation{
		OperationID: "list-segment-contacts", Method: http.MethodGet, Path: "/segments/{id}/contacts",
		Summary: "List the contacts of a segment, newest first", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listSegmentContacts)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-contact", Method: http.MethodGet, Path: "/contacts/{id}",
		Summary: "Get a contact by id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound},
	}, r.getContact)
	rest.RegisterBody(h, rest.Route{IDOf: contactID(r.Service)}, openapi.Operation{
		OperationID: "update-contact", Method: http.MethodPatch, Path: "/contacts/{id}",
		Summary: "Change a contact. Setting unsubscribed to false is the only way to subscribe a contact again", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateContact)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-contact", Method: http.MethodDelete, Path: "/contacts/{id}",
		Summary: "Delete a contact by id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.deleteContact)
	r.addAudienceRoutes(h)
	r.addBatches(h)
}

// documentExisting documents the answer for an existing contact.
func documentExisting(h *rest.Handler, op *openapi.Operation) {
	h.OnDocument(func(*openapi.Document) {
		existing := *op.Responses["201"]
		existing.Description = "The contact existed"
		op.Responses["200"] = &existing
	})
}

// contactID returns the Route.IDOf of paths that name a contact.
func contactID(service *audience.Service) func(ctx context.Context, key *app.Key, name string) (string, error) {
	return func(ctx context.Context, key *app.Key, name string) (string, error) {
		c, err := service.GetContact(ctx, key, name)
		return c.ID, err
	}
}

func (r ContactRoutes) createContact(ctx context.Context, key *app.Key, in *createContactInput, request *createContactRequest) (*putContactOutput, error) {
	return r.createContactIn(ctx, key, "", in.conflict, request)
}

// createContactIn creates a contact, and adds it to a segment if audienceID is given.
func (r ContactRoutes) createContactIn(ctx context.Context, key *app.Key, audienceID string, conflict app.OnConflict, request *createContactRequest) (*putContactOutput, error) {
	in, err := request.input(audienceID)
	if err != nil {
		return nil, err
	}
	if audienceID != "" {
		in.Segments = append(in.Segments, app.SegmentRef{ID: audienceID})
	}
	id, created, err := r.Service.PutContact(ctx, key, *in, conflict)
	if err != nil {
		return nil, err
	}
	out := &putContactOutput{Status: http.StatusOK, Body: contactRef{Object: "contact", ID: id}}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (r ContactRoutes) listContacts(ctx context.Context, key *app.Key, in *contactPageInput) (*rest.SearchOutput[ContactItem], error) {
	if in.Search != "" || in.TopicID != "" || in.State != "" {
		return r.searchContacts(ctx, key, in)
	}
	found, err := r.listContactsOf(ctx, key, in.SegmentID, in.ContactListParams)
	if err != nil {
		return nil, err
	}
	return rest.Unsearched(found), nil
}

func (r ContactRoutes) listSegmentContacts(ctx context.Context, key *app.Key, in *segmentContactsInput) (*rest.ListOutput[ContactItem], error) {
	return r.listContactsOf(ctx, key, in.ID, in.ContactListParams)
}

// listContactsOf lists the contacts of a segment, or all contacts for an empty id.
func (r ContactRoutes) listContactsOf(ctx context.Context, key *app.Key, segmentID string, in ContactListParams) (*rest.ListOutput[ContactItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	include, err := app.ParseInclude(in.Include)
	if err != nil {
		return nil, err
	}
	if segmentID != "" {
		if err := rest.CheckID("segment", &segmentID); err != nil {
			return nil, err
		}
	}
	rows, more, err := r.Service.ListContacts(ctx, key, segmentID, include, page)
	if err != nil {
		return nil, err
	}
	total, err := r.Service.CountContacts(ctx, key, segmentID)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(c *app.Contact) ContactItem { return newContactItem(c, include) }).WithTotal(total), nil
}

func (r ContactRoutes) getContact(ctx context.Context, key *app.Key, in *ContactPath) (*contactOutput, error) {
	c, err := r.Service.GetContact(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	out := contactDetail{ContactRecord: newContactRecord(&c, app.Include{Properties: true})}
	switch s, err := r.Suppressions.GetSuppression(ctx, key, c.Email); {
	case err == nil:
		out.Suppression = &ContactSuppression{ID: s.ID, Origin: s.Origin, SourceID: base.TextOrNull(s.SourceID), CreatedAt: app.FormatTime(s.CreatedAt)}
	case app.CodeOf(err) != app.CodeNotFound:
		return nil, err
	}
	return &contactOutput{out}, nil
}

func (r ContactRoutes) updateContact(ctx context.Context, key *app.Key, in *ContactPath, request *updateContactRequest) (*contactRefOutput, error) {
	return r.updateContactIn(ctx, key, "", in.ID, request)
}

// updateContactIn updates a contact; audienceID is that of the path, if any.
func (r ContactRoutes) updateContactIn(ctx context.Context, key *app.Key, audienceID, contact string, request *updateContactRequest) (*contactRefOutput, error) {
	patch, err := request.patch(audienceID)
	if err != nil {
		return nil, err
	}
	id, err := r.Service.UpdateContact(ctx, key, contact, *patch)
	if err != nil {
		return nil, err
	}
	return &contactRefOutput{contactRef{Object: "contact", ID: id}}, nil
}

func (r ContactRoutes) deleteContact(ctx context.Context, key *app.Key, in *deleteContactInput) (*deletedContactOutput, error) {
	return r.deleteContactIn(ctx, key, in.ContactPath.ID, in.EraseParam)
}

func (r ContactRoutes) deleteContactIn(ctx context.Context, key *app.Key, contact string, in EraseParam) (*deletedContactOutput, error) {
	erase, err := in.Erase.read("erase")
	if err != nil {
		return nil, err
	}
	id, err := r.Service.DeleteContact(ctx, key, contact, erase)
	if err != nil {
		return nil, err
	}
	return &deletedContactOutput{newDeletedContact(id)}, nil
}

func newDeletedContact(id string) deletedContact {
	return deletedContact{Object: "contact", Contact: id, Deleted: true}
}

// newContactItem converts a contact for a list, with the included parts.
func newContactItem(c *app.Contact, include app.Include) ContactItem {
	item := ContactItem{
		ID: c.ID, Email: c.Email, FirstName: base.TextOrNull(c.FirstName), LastName: base.TextOrNull(c.LastName),
		CreatedAt: app.FormatTime(c.CreatedAt), Unsubscribed: c.Unsubscribed,
	}
	if include.Properties {
		item.Properties = newContactProperties(c.Properties)
	}
	if include.Topics {
		item.Topics = make([]ContactTopicItem, len(c.Topics))
		for i := range c.Topics {
			item.Topics[i] = newContactTopicItem(&c.Topics[i])
		}
	}
	return item
}

// newContactRecord converts a single contact.
func newContactRecord(c *app.Contact, include app.Include) ContactRecord {
	return ContactRecord{Object: "contact", ContactItem: newContactItem(c, include)}
}

func newContactProperties(p app.Properties) map[string]ContactProperty {
	out := make(map[string]ContactProperty, len(p))
	for key, v := range p {
		out[key] = ContactProperty{Type: v.Type, Value: v.Plain()}
	}
	return out
}
