package resend

// WithPages sets the page size and the maximum number of pages of each list.
func (o Options) WithPages(size, most int) Options {
	o.page, o.pages = size, most
	return o
}
