package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Contacts belong to the whole team; below an audience, which is a segment under
// its old name, stand the same contacts.
func (h *Handler) registerAudienceContacts() {
	register(h, route{body: true}, huma.Operation{
		OperationID: "create-audience-contact", Method: http.MethodPost, Path: "/audiences/{id}/contacts", DefaultStatus: http.StatusCreated,
		Summary: "Create a contact and add it to a segment", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.createAudienceContact)
	documentBody[createContactRequest](h, http.MethodPost, "/audiences/{id}/contacts")
	register(h, route{}, huma.Operation{
		OperationID: "list-audience-contacts", Method: http.MethodGet, Path: "/audiences/{id}/contacts",
		Summary: "List the contacts of a segment, newest first", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, h.listSegmentContacts)
	register(h, route{}, huma.Operation{
		OperationID: "get-audience-contact", Method: http.MethodGet, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Get a contact by its id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound},
	}, h.getAudienceContact)
	register(h, route{body: true}, huma.Operation{
		OperationID: "update-audience-contact", Method: http.MethodPatch, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Change a contact", Tags: contactTags,
		Errors: []int{http.StatusNotFound},
	}, h.updateAudienceContact)
	documentBody[updateContactRequest](h, http.MethodPatch, "/audiences/{id}/contacts/{contact_id}")
	register(h, route{}, huma.Operation{
		OperationID: "delete-audience-contact", Method: http.MethodDelete, Path: "/audiences/{id}/contacts/{contact_id}",
		Summary: "Delete a contact by its id or address", Tags: contactTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, h.deleteAudienceContact)
}

// audience reads the audience out of the path. Errors: CodeNotFound where the
// team has none of that id.
func (h *Handler) audience(ctx context.Context, p AudiencePath) (id string, err error) {
	if id, err = pathID("audience", p.ID); err != nil {
		return "", err
	}
	return id, h.service.CheckAudience(ctx, keyOf(ctx), id)
}

func (h *Handler) createAudienceContact(ctx context.Context, in *AudiencePath) (*contactRefOutput, error) {
	id, err := h.audience(ctx, *in)
	if err != nil {
		return nil, err
	}
	return h.createContactIn(ctx, id)
}

func (h *Handler) getAudienceContact(ctx context.Context, in *AudienceContactPath) (*contactOutput, error) {
	if _, err := h.audience(ctx, in.AudiencePath); err != nil {
		return nil, err
	}
	return h.getContact(ctx, &ContactPath{ID: in.ContactID})
}

func (h *Handler) updateAudienceContact(ctx context.Context, in *AudienceContactPath) (*contactRefOutput, error) {
	id, err := h.audience(ctx, in.AudiencePath)
	if err != nil {
		return nil, err
	}
	return h.updateContactIn(ctx, id, in.ContactID)
}

func (h *Handler) deleteAudienceContact(ctx context.Context, in *deleteAudienceContactInput) (*deletedContactOutput, error) {
	if _, err := h.audience(ctx, in.AudiencePath); err != nil {
		return nil, err
	}
	return h.deleteContactIn(ctx, in.ContactID, in.EraseParam)
}
