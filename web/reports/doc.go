// Package reports has the routes of the API for reports about domains: what they say, the list, and uploads.
package reports
