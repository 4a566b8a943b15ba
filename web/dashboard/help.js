// Which page of the manual a screen is about.

/** Screens by the beginning of their path, the longest first where one begins another. */
const pages = /** @type {[string, string][]} */ ([
	['/emails', 'sending#why-did-it-not-arrive'],
	['/received', 'receiving'],
	['/routes', 'routes'],
	['/broadcasts', 'broadcasts'],
	['/automations', 'automations'],
	['/feeds', 'broadcasts'],
	['/contacts', 'audience'],
	['/forms', 'signup'],
	['/opt-ins', 'signup'],
	['/segments', 'audience#segments'],
	['/topics', 'audience#topics'],
	['/properties', 'audience#properties'],
	['/imports', 'audience#import'],
	['/suppressions', 'opt-outs#suppressions'],
	['/templates', 'writing'],
	['/blocks', 'writing#saved-blocks'],
	['/images', 'writing#images'],
	['/domains', 'domains'],
	['/keys', 'sending#keys'],
	['/smtp', 'smtp'],
	['/webhooks', 'events'],
	['/requests', 'api#the-log-of-requests'],
	['/reputation', 'reputation'],
	['/usage', 'plans'],
	['/queue', 'queue'],
	['/team', 'people'],
	['/audit', 'teams#who-did-what'],
	['/account', 'sign-in#second-factor'],
	['/operator/relays', 'relays'],
	['/operator/reports', 'provider-events'],
	['/operator/teams', 'teams'],
	['/operator/people', 'people'],
	['/operator/health', 'watching#doctor'],
	['/operator/backups', 'backups'],
	['/operator/disk', 'retention'],
	['/operator/settings', 'settings'],
	['/operator', 'operating'],
	['/', 'dashboard'],
]);

/** The address of the manual's page about a screen. @param {string} path */
export function helpOf(path) {
	const found = pages.find(([begins]) => path === begins || path.startsWith(`${begins}/`));
	return found ? `/manual/${found[1]}` : '/manual';
}
