// Package broadcasts implements the API's routes of broadcasts, their recipients, and templates.
// Only web imports it.
//
// Failure policy: that of web/rest.
package broadcasts
