// The routes of the dashboard: pages by pattern, and the sidebar's links to them.

/** Pages that need no sign-in. @type {[string, () => Promise<any>][]} */
export const publicRoutes = [
	['/sign-in', () => import('./sign-in.js')],
	['/setup', () => import('./setup.js')],
	['/link', () => import('./link.js')],
	['/invitation', () => import('./invitation.js')],
];

/** Pages by pattern; the first match is shown. @type {[string, () => Promise<any>][]} */
export const routes = [
	['/', () => import('./overview.js')],
	['/emails', () => import('./emails.js')],
	['/emails/:id', () => import('./email.js')],
	['/received', () => import('./received.js')],
	['/received/:id', () => import('./received-email.js')],
	['/routes', () => import('./mail-routes.js')],
	['/broadcasts', () => import('./broadcasts.js')],
	['/broadcasts/:id', () => import('./composer.js')],
	['/broadcasts/:id/review', () => import('./review.js')],
	['/broadcasts/:id/report', () => import('./report.js')],
	['/automations', () => import('./automations.js')],
	['/automations/:id', () => import('./automation.js')],
	['/automations/:id/report', () => import('./automation.js')],
	['/automations/:id/runs', () => import('./automation.js')],
	['/automations/:id/test', () => import('./automation.js')],
	['/automations/:id/settings', () => import('./automation.js')],
	['/contacts', () => import('./contacts.js')],
	['/contacts/:id', () => import('./contact.js')],
	['/forms', () => import('./forms.js')],
	['/forms/:id', () => import('./form.js')],
	['/opt-ins', () => import('./opt-ins.js')],
	['/opt-ins/:id', () => import('./opt-in.js')],
	['/segments', () => import('./segments.js')],
	['/segments/:id', () => import('./segment.js')],
	['/topics/:id', () => import('./topic.js')],
	['/topics', () => import('./topics.js')],
	['/properties', () => import('./properties.js')],
	['/imports', () => import('./imports.js')],
	['/imports/:id', () => import('./import.js')],
	['/suppressions', () => import('./suppressions.js')],
	['/feeds', () => import('./feeds.js')],
	['/templates', () => import('./templates.js')],
	['/templates/:id', () => import('./template.js')],
	['/blocks', () => import('./blocks.js')],
	['/blocks/:id', () => import('./block.js')],
	['/images', () => import('./images.js')],
	['/domains', () => import('./domains.js')],
	['/domains/:id', () => import('./domain.js')],
	['/keys', () => import('./keys.js')],
	['/smtp', () => import('./smtp.js')],
	['/webhooks', () => import('./webhooks.js')],
	['/webhooks/:id', () => import('./webhook.js')],
	['/requests', () => import('./requests.js')],
	['/requests/:id', () => import('./request.js')],
	['/reputation', () => import('./reputation.js')],
	['/usage', () => import('./usage.js')],
	['/queue', () => import('./queue.js')],
	['/team', () => import('./team.js')],
	['/audit', () => import('./audit.js')],
	['/account', () => import('./account.js')],
	['/operator/relays', () => import('./relays.js')],
	['/operator/reports', () => import('./reports.js')],
	['/operator/teams', () => import('./teams.js')],
	['/operator/people', () => import('./people.js')],
	['/operator/health', () => import('./health.js')],
	['/operator/backups', () => import('./backups.js')],
	['/operator/settings', () => import('./settings.js')],
	['/operator/disk', () => import('./disk.js')],
];

/** Paths that readers guess, and the pages they are redirected to. @type {Record<string, string>} */
export const redirects = { '/audience': '/contacts', '/people': '/team', '/settings': '/team?part=settings' };

/** The sidebar's links by group: path, icon, whether it is in the phone's bar, and further paths that highlight it. The name of a link is its page's title. */
export const navigation = /** @type {[string, any[][]][]} */ ([
	['mail', [
		['/', 'overview', true],
		['/emails', 'mail', true, ['/received', '/routes']],
		['/broadcasts', 'broadcast', true, ['/automations', '/feeds']],
		['/templates', 'template', false, ['/blocks', '/images']],
		['/queue', 'queue', true],
		['/reputation', 'gauge', false, ['/usage']],
	]],
	['audience', [['/contacts', 'audience', false, ['/forms', '/opt-ins', '/segments', '/topics', '/properties', '/imports', '/suppressions']]]],
	['developers', [
		['/domains', 'globe', false],
		['/keys', 'key', false, ['/smtp']],
		['/webhooks', 'webhook', false],
		['/requests', 'list', false],
	]],
	['server', [
		['/operator/relays', 'relay', false, ['/operator/reports']],
		['/operator/teams', 'teams', false, ['/operator/people']],
		['/operator/health', 'health', false, ['/operator/backups', '/operator/settings', '/operator/disk']],
	]],
	['settings', [['/team', 'settings', false, ['/audit']]]],
]);
