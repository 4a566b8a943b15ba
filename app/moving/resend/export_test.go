package resend

// WithPages has lists read in pages of another size, and at most so many of each.
func (o Options) WithPages(size, most int) Options {
	o.page, o.pages = size, most
	return o
}
