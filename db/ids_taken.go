package db

// Imported ids are kept if they are free. An id is unique in its table, whatever the team.

func (r *Reader) taken(query, id string) (taken bool, err error) {
	err = r.Row(query, []any{id}, &taken)
	return taken, err
}

// PropertyIDTaken reports whether a property of any team has an id.
func (r *Reader) PropertyIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM properties WHERE id = ?)`, id)
}

// SegmentIDTaken reports whether a segment of any team has an id.
func (r *Reader) SegmentIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM segments WHERE id = ?)`, id)
}

// TopicIDTaken reports whether a topic of any team has an id.
func (r *Reader) TopicIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM topics WHERE id = ?)`, id)
}

// BlockIDTaken reports whether a saved block of any team has an id.
func (r *Reader) BlockIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM blocks WHERE id = ?)`, id)
}

// TemplateIDTaken reports whether a template of any team has an id.
func (r *Reader) TemplateIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM templates WHERE id = ?)`, id)
}

// ImageIDTaken reports whether an image of any team has an id.
func (r *Reader) ImageIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM images WHERE id = ?)`, id)
}

// ImageNameTaken reports whether an image of any team has a name.
func (r *Reader) ImageNameTaken(name string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM images WHERE name = ?)`, name)
}

// FormIDTaken reports whether a form of any team has an id.
func (r *Reader) FormIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM forms WHERE id = ?)`, id)
}

// IssueIDTaken reports whether an issue of any team has an id.
func (r *Reader) IssueIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM issues WHERE id = ?)`, id)
}

// MailRouteIDTaken reports whether a route of any team has an id.
func (r *Reader) MailRouteIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM mail_routes WHERE id = ?)`, id)
}

// ForwardAddressIDTaken reports whether an address of any team to which mail is forwarded has an id.
func (r *Reader) ForwardAddressIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM forward_addresses WHERE id = ?)`, id)
}

// FeedIDTaken reports whether a feed of any team has an id.
func (r *Reader) FeedIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM feeds WHERE id = ?)`, id)
}

// OptInIDTaken reports whether an opt-in of any team has an id.
func (r *Reader) OptInIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM opt_ins WHERE id = ?)`, id)
}

// ConsentIDTaken reports whether a consent of any team has an id.
func (r *Reader) ConsentIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM consents WHERE id = ?)`, id)
}

// BroadcastIDTaken reports whether a broadcast of any team has an id.
func (r *Reader) BroadcastIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM broadcasts WHERE id = ?)`, id)
}

// DomainIDTaken reports whether a domain of any team has an id.
func (r *Reader) DomainIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM domains WHERE id = ?)`, id)
}

// WebhookIDTaken reports whether a webhook of any team has an id.
func (r *Reader) WebhookIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM webhooks WHERE id = ?)`, id)
}

// KeyIDTaken reports whether an API key of any team has an id.
func (r *Reader) KeyIDTaken(id string) (bool, error) {
	return r.taken(`SELECT EXISTS (SELECT 1 FROM keys WHERE id = ?)`, id)
}
