// Which page of the manual a screen is about.

/** Screens by the beginning of their path, the longest first where one begins another. */
const pages = /** @type {[string, string][]} */ ([
	['/emails', 'sending#why-did-it-not-arrive'],
	['/broadcasts', 'broadcasts'],
	['/contacts', 'audience'],
	['/segments', 'audience#segments'],
	['/topics', 'audience#topics'],
	['/properties', 'audience#properties'],
	['/imports', 'audience#import'],
	['/suppressions', 'audience#suppressions'],
	['/templates', 'api#templates'],
	['/domains', 'domains'],
	['/keys', 'sending#keys'],
	['/smtp', 'smtp'],
	['/webhooks', 'events'],
	['/requests', 'sending#what-a-refusal-says'],
	['/reputation', 'reputation'],
	['/usage', 'limits#plans-and-quotas'],
	['/queue', 'queue'],
	['/team', 'people'],
	['/audit', 'people#who-did-what'],
	['/account', 'people#second-factor'],
	['/operator/relays', 'relays'],
	['/operator/reports', 'provider-events'],
	['/operator/teams', 'people#teams'],
	['/operator/people', 'people'],
	['/operator/health', 'watching#doctor'],
	['/operator/backups', 'backups'],
	['/operator/disk', 'operating#keep-and-delete'],
	['/operator/settings', 'commands#settings'],
	['/operator', 'operating'],
	['/', 'dashboard'],
]);

/** The address of the manual's page about a screen. @param {string} path */
export function helpOf(path) {
	const found = pages.find(([begins]) => path === begins || path.startsWith(`${begins}/`));
	return found ? `/manual/${found[1]}` : '/manual';
}
