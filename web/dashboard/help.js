// Which page of the manual a screen is about.

/** Screens by the beginning of their path, the longest first where one begins another. */
const pages = /** @type {[string, string][]} */ ([
	['/emails', 'sending#why-did-it-not-arrive'],
	['/broadcasts', 'broadcasts'],
	['/contacts', 'broadcasts#audience'],
	['/segments', 'broadcasts#audience'],
	['/topics', 'broadcasts#audience'],
	['/properties', 'broadcasts#placeholders'],
	['/imports', 'broadcasts#import'],
	['/suppressions', 'broadcasts#stay-welcome'],
	['/templates', 'broadcasts#placeholders'],
	['/domains', 'domains'],
	['/keys', 'sending#keys'],
	['/smtp', 'smtp'],
	['/webhooks', 'events'],
	['/requests', 'sending#what-a-refusal-says'],
	['/reputation', 'broadcasts#stay-welcome'],
	['/usage', 'sending'],
	['/queue', 'operating#what-waits'],
	['/team', 'people'],
	['/audit', 'people#who-did-what'],
	['/account', 'people#second-factor'],
	['/operator/relays', 'relays'],
	['/operator/reports', 'provider-events'],
	['/operator/teams', 'people#teams'],
	['/operator/people', 'people'],
	['/operator/health', 'operating#watch'],
	['/operator/backups', 'operating#back-up'],
	['/operator/disk', 'operating#keep-and-delete'],
	['/operator', 'operating'],
	['/', 'start'],
]);

/** The address of the manual's page about a screen. @param {string} path */
export function helpOf(path) {
	const found = pages.find(([begins]) => path === begins || path.startsWith(`${begins}/`));
	return found ? `/manual/${found[1]}` : '/manual';
}
