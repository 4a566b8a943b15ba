package resend

// WithPages sets the page size and the maximum number of pages of each list.
func (o Options) WithPages(size, pages int) Options {
	o.page, o.pages = size, pages
	return o
}
