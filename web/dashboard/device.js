// Browser names from the User-Agent.

/** @type {[RegExp, string][]} */
const browsers = [[/Edg(?:e|A|iOS)?\/(\d+)/, 'Edge'], [/OPR\/(\d+)/, 'Opera'], [/SamsungBrowser\/(\d+)/, 'Samsung Internet'], [/(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'], [/(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/, 'Chrome'], [/Version\/(\d+).*Safari/, 'Safari']];
/** @type {[RegExp, string][]} */
const systems = [[/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Android/, 'Android'], [/Windows/, 'Windows'], [/Mac OS X|Macintosh/, 'macOS'], [/CrOS/, 'ChromeOS'], [/Linux/, 'Linux']];

/** The name of a browser and its system, and whether it is a phone's. @param {string} agent */
export function device(agent) {
	const browser = browsers.map(([has, name]) => [has.exec(agent), name]).find(([found]) => found);
	const system = systems.find(([has]) => has.test(agent))?.[1];
	const program = browser ? `${browser[1]} ${/** @type {any} */ (browser[0])[1]}` : agent.split(' ')[0].slice(0, 40);
	return { name: [program, system].filter(Boolean).join(', '), phone: /Mobile|iPhone|Android/.test(agent) };
}
