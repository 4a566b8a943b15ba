package audience

import (
	"cmp"
	"context"
	"net/http"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

type createAudienceContactInput struct {
	AudiencePath
	ConflictParam
}

// addAudienceRoutes adds the contact routes below an audience, which is a segment under its former
// name. Contacts belong to the team.
func (r ContactRoutes) addAudienceRoutes(h *rest.Handler) {
	documentExisting(h, rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-audience-contact", Method: http.MethodPost, Path: "/audiences/{id}/contacts", DefaultStatus: http.StatusCreated,
		Summary: "Add a contact to a segment; a new one, unless its address has one", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.createAudienceContact))
	rest.Register(h, rest.Route{FreshExport: true}, openapi.Operation{
		OperationID: "list-audience-contacts", Method: http.MethodGet, Path: "/audiences/{id}/contacts",
		Summary: "List the contacts of a segment, newest first", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listSegmentContacts)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-audience-contact", Method: http.MethodGet, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Get a contact by its id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound},
	}, r.getAudienceContact)
	rest.RegisterBody(h, rest.Route{IDOf: contactID(r.Service)}, openapi.Operation{
		OperationID: "update-audience-contact", Method: http.MethodPatch, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Change a contact", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateAudienceContact)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-audience-contact", Method: http.MethodDelete, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Delete a contact by its id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.deleteAudienceContact)
}

// createAudienceContact adds an existing contact to the audience.
func (r ContactRoutes) createAudienceContact(ctx context.Context, key *app.Key, in *createAudienceContactInput, request *createContactRequest) (*putContactOutput, error) {
	if err := r.Service.CheckAudience(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return r.createContactIn(ctx, key, in.ID, cmp.Or(in.conflict, app.ConflictSkip), request)
}

func (r ContactRoutes) getAudienceContact(ctx context.Context, key *app.Key, in *AudienceContactPath) (*contactOutput, error) {
	if err := r.Service.CheckAudience(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return r.getContact(ctx, key, &ContactPath{ID: in.ContactID})
}

func (r ContactRoutes) updateAudienceContact(ctx context.Context, key *app.Key, in *AudienceContactPath, request *updateContactRequest) (*contactRefOutput, error) {
	if err := r.Service.CheckAudience(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return r.updateContactIn(ctx, key, in.ID, in.ContactID, request)
}

func (r ContactRoutes) deleteAudienceContact(ctx context.Context, key *app.Key, in *deleteAudienceContactInput) (*deletedContactOutput, error) {
	if err := r.Service.CheckAudience(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return r.deleteContactIn(ctx, key, in.ContactID, in.EraseParam)
}
