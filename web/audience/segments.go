package audience

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// segmentCondition compares a field of a contact, or asks for an action of the contact.
type segmentCondition struct {
	Field string `json:"field" doc:"email, first_name, last_name, unsubscribed, created_at, property:KEY, received, opened, clicked, replied or topic" example:"property:plan"`
	Op    string `json:"op" enum:"equals,not_equals,contains,starts_with,ends_with,is_set,is_not_set,greater_than,less_than,is_true,is_false,before,after,within_days,not_within_days,in_broadcast,not_in_broadcast,subscribed,not_subscribed"`
	Value string `json:"value" required:"false" doc:"Days, or an id for in_broadcast, subscribed; ignored by is_…"`
}

// conditionItems is an array whose length is checked while it is decoded.
type conditionItems []segmentCondition

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *conditionItems) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]segmentCondition)(l), app.MaxConditions, "an array of objects")
}

// segmentFilter selects contacts.
type segmentFilter struct {
	_          struct{}       `nullable:"true"`
	Match      app.Match      `json:"match" enum:"all,any"`
	Conditions conditionItems `json:"conditions" required:"false" maxItems:"50" doc:"Empty: every contact"`
}

// SegmentItem is a segment in a list.
type SegmentItem struct {
	ID        string         `json:"id" format:"uuid"`
	Name      string         `json:"name"`
	Filter    *segmentFilter `json:"filter" doc:"Which contacts are in the segment besides those added by hand; null: none"`
	CreatedAt string         `json:"created_at" format:"date-time"`
	// ContactCount is in lists only where the number is kept.
	ContactCount *int `json:"contact_count,omitempty" doc:"How many contacts are in the segment now. Lists have it for segments without a filter only"`
}

type segmentRecord struct {
	Object string `json:"object" enum:"segment"`
	SegmentItem
}

type removedSegment struct {
	Object  string `json:"object" enum:"segment"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

// ContactSegment is a segment of a contact.
type ContactSegment struct {
	ID        string `json:"id" format:"uuid"`
	Name      string `json:"name"`
	CreatedAt string `json:"created_at" format:"date-time"`
}

type addedMember struct {
	Object    string `json:"object" enum:"contact_segment"`
	ID        string `json:"id" format:"uuid" doc:"The segment's"`
	ContactID string `json:"contact_id" format:"uuid"`
	SegmentID string `json:"segment_id" format:"uuid"`
}

type removedMember struct {
	Object     string `json:"object" enum:"contact_segment"`
	ID         string `json:"id" format:"uuid" doc:"The contact's"`
	AudienceID string `json:"audienceId" format:"uuid" doc:"The segment's"`
	ContactID  string `json:"contact_id" format:"uuid"`
	SegmentID  string `json:"segment_id" format:"uuid"`
	Deleted    bool   `json:"deleted"`
}

// createSegmentRequest is the body of POST /segments. Older clients send an audience, which is
// ignored.
type createSegmentRequest struct {
	Name       string         `json:"name" maxLength:"255"`
	Filter     *segmentFilter `json:"filter,omitempty" doc:"Which contacts are in the segment besides those added by hand"`
	AudienceID string         `json:"audience_id,omitempty" hidden:"true"`
}

// updateSegmentRequest is the body of PATCH /segments/{id}.
type updateSegmentRequest struct {
	Name   string                      `json:"name,omitempty" maxLength:"255"`
	Filter rest.Change[*segmentFilter] `json:"filter,omitempty" doc:"null: only contacts that were added by hand"`
}

// SegmentPath is the path parameter of one segment.
type SegmentPath struct {
	ID string `path:"id" doc:"The id of the segment" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *SegmentPath) Resource() (kind string, id *string) { return "segment", &p.ID }

// MembershipPath names a contact and a segment.
type MembershipPath struct {
	ID        string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
	SegmentID string `path:"segment_id" doc:"The id of the segment" format:"uuid"`
}

// Check implements Checker.
func (p *MembershipPath) Check() error { return rest.CheckID("segment", &p.SegmentID) }

type (
	contactSegmentsInput struct {
		rest.PageParams
		ID string `path:"id" doc:"The id of the contact, or its email address, percent-encoded"`
	}
	segmentOutput       = rest.Output[segmentRecord]
	addedMemberOutput   struct{ Body addedMember }
	removedMemberOutput struct{ Body removedMember }
)

// Resource implements rest.ResourcePath.
func (in *contactSegmentsInput) Resource() (kind string, id *string) { return "", &in.ID }

var segmentTags = []string{"Segments"}

// SegmentRoutes are the routes of segments.
type SegmentRoutes struct{ Service *audience.Service }

// Add adds the routes to a handler.
func (r SegmentRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-segment", Method: http.MethodPost, Path: "/segments", DefaultStatus: http.StatusCreated,
		Summary: "Create a segment: a group of contacts, filled by hand or by a filter", Tags: segmentTags,
	}, r.createSegment)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-segments", Method: http.MethodGet, Path: "/segments",
		Summary: "List segments, newest first", Tags: segmentTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListSegments, listedSegment))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-segment", Method: http.MethodGet, Path: "/segments/{id}",
		Summary: "Get a segment with the number of its contacts", Tags: segmentTags,
		Errors: []int{http.StatusNotFound},
	}, r.getSegment)
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "update-segment", Method: http.MethodPatch, Path: "/segments/{id}",
		Summary: "Change the name or the filter of a segment", Tags: segmentTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateSegment)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-segment", Method: http.MethodDelete, Path: "/segments/{id}",
		Summary: "Delete a segment, not its contacts. Refused while a form or an unsent broadcast uses it", Tags: segmentTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, rest.Do[*SegmentPath](r.Service.DeleteSegment, func(id string) removedSegment { return removedSegment{Object: "segment", ID: id, Deleted: true} }))
	r.addMemberships(h)
}

func (r SegmentRoutes) addMemberships(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-contact-segments", Method: http.MethodGet, Path: "/contacts/{id}/segments",
		Summary: "List the segments that a contact is in, newest first", Tags: segmentTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*contactSegmentsInput](r.Service.ListContactSegments, newContactSegment))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "add-contact-to-segment", Method: http.MethodPost, Path: "/contacts/{id}/segments/{segment_id}",
		Summary: "Add a contact to a segment. Adding it again changes nothing", Tags: segmentTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.addToSegment)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "remove-contact-from-segment", Method: http.MethodDelete, Path: "/contacts/{id}/segments/{segment_id}",
		Summary: "Remove a contact from a segment to which it was added by hand", Tags: segmentTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.removeFromSegment)
}

// newSegment creates the segment of a request.
func (r SegmentRoutes) newSegment(ctx context.Context, key *app.Key, request *createSegmentRequest) (app.Segment, error) {
	return r.Service.CreateSegment(ctx, key, app.SegmentInput{Name: request.Name, Filter: request.Filter.input()})
}

func (r SegmentRoutes) createSegment(ctx context.Context, key *app.Key, _ *struct{}, request *createSegmentRequest) (*segmentOutput, error) {
	return rest.Answer(newSegmentRecord)(r.newSegment(ctx, key, request))
}

func (r SegmentRoutes) getSegment(ctx context.Context, key *app.Key, in *SegmentPath) (*segmentOutput, error) {
	s, contacts, err := r.Service.GetSegment(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	record := newSegmentRecord(&s)
	record.ContactCount = &contacts
	return &segmentOutput{Body: record}, nil
}

func (r SegmentRoutes) updateSegment(ctx context.Context, key *app.Key, in *SegmentPath, request *updateSegmentRequest) (*segmentOutput, error) {
	filter := app.Change[*app.Filter]{Set: request.Filter.Set, Null: request.Filter.Null, Value: request.Filter.Value.input()}
	return rest.Answer(newSegmentRecord)(r.Service.UpdateSegment(ctx, key, in.ID, app.SegmentPatch{Name: request.Name, Filter: filter}))
}

func newContactSegment(s *app.Segment) ContactSegment {
	return ContactSegment{ID: s.ID, Name: s.Name, CreatedAt: app.FormatTime(s.CreatedAt)}
}

func (r SegmentRoutes) addToSegment(ctx context.Context, key *app.Key, in *MembershipPath) (*addedMemberOutput, error) {
	contactID, err := r.Service.AddToSegment(ctx, key, in.ID, in.SegmentID)
	if err != nil {
		return nil, err
	}
	return &addedMemberOutput{addedMember{Object: "contact_segment", ID: in.SegmentID, ContactID: contactID, SegmentID: in.SegmentID}}, nil
}

func (r SegmentRoutes) removeFromSegment(ctx context.Context, key *app.Key, in *MembershipPath) (*removedMemberOutput, error) {
	contactID, err := r.Service.RemoveFromSegment(ctx, key, in.ID, in.SegmentID)
	if err != nil {
		return nil, err
	}
	return &removedMemberOutput{removedMember{
		Object: "contact_segment", ID: contactID, AudienceID: in.SegmentID, ContactID: contactID, SegmentID: in.SegmentID, Deleted: true,
	}}, nil
}

// input converts the filter for the service; nil stays nil.
func (f *segmentFilter) input() *app.Filter {
	if f == nil {
		return nil
	}
	out := &app.Filter{Match: f.Match, Conditions: make([]app.Condition, len(f.Conditions))}
	for i, c := range f.Conditions {
		out.Conditions[i] = app.Condition(c)
	}
	return out
}

func newSegmentFilter(f *app.Filter) *segmentFilter {
	if f == nil {
		return nil
	}
	out := &segmentFilter{Match: f.Match, Conditions: make(conditionItems, len(f.Conditions))}
	for i, c := range f.Conditions {
		out.Conditions[i] = segmentCondition(c)
	}
	return out
}

func newSegmentItem(s *app.Segment) SegmentItem {
	return SegmentItem{ID: s.ID, Name: s.Name, Filter: newSegmentFilter(s.Filter), CreatedAt: app.FormatTime(s.CreatedAt)}
}

// listedSegment converts a segment for a list, with its number of contacts where that is kept.
func listedSegment(s *app.Segment) SegmentItem {
	out := newSegmentItem(s)
	if s.Filter == nil {
		out.ContactCount = &s.Members
	}
	return out
}

func newSegmentRecord(s *app.Segment) segmentRecord {
	return segmentRecord{Object: "segment", SegmentItem: newSegmentItem(s)}
}
