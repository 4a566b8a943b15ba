import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{health$HealthSections,health$default}from"./shared.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";function Disk(){let disk=api$useGet("/disk",void 0,{team:null,every:10});return lib_core$html`<${ui_base$Head} title=${i18n$t("disk.title")} note=${disk.data?.looked_at&&
lib_core$html`<span class="muted t12">${i18n$say("disk.looked",{when:lib_core$html`<${ui_base$Time} at=${disk.data.looked_at} as="clock" />`})}</span>`} /><${health$HealthSections} at="disk" />
	${disk.data?lib_core$html`<div class="page"><${Room} of=${disk.data} /></div>`:disk.error?lib_core$html`<${ui_base$Failed} error=${disk.error} retry=${disk.reload} />`:
lib_core$html`<${ui_base$Bones} rows=${4} />`}`}var Stat=({label,value,note})=>lib_core$html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value}</p><p class="stat-note">${note}</p></div>`;
function Room({of}){let sum=rows=>rows.reduce((all2,row)=>all2+row.bytes,0)||1,tables=sum(of.tables),teams=sum(of.teams),[all,setAll]=lib_core$useState(!1);return lib_core$html`<div class="section"></div><div class="stats stats--3"><${Stat} label=${i18n$t(
"disk.database")} value=${format$size(of.bytes)} note=${i18n$t("disk.within",{size:format$size(of.free_bytes)})} /><${Stat} label=${i18n$t("disk.wal")} value=${format$size(
of.wal_bytes)} note=${i18n$t("disk.walNote")} /><${Stat} label=${i18n$t("disk.free")} value=${format$size(of.disk_free)} note=${i18n$t("disk.freeNote")} /></div>
	${!of.looked_at&&lib_core$html`<div class="under"><${ui_base$Notice} icon="history">${i18n$t("disk.first")}<//></div>`}
	${of.teams.length>0&&lib_core$html`<${ui_base$Section} title=${i18n$t("disk.label")}><table class="table table--fixed"><thead><tr><th scope="col">${i18n$t("dis\
k.team")}</th><th scope="col" class="num w-num">${i18n$t("disk.size")}</th><th scope="col" class="num w-num hide-s">${i18n$t("disk.emails")}</th><th scope="col" class="hide-s w-team">${i18n$t(
"disk.kept")}</th><th scope="col" class="hide-s w-team">${i18n$t("disk.share")}</th></tr></thead><tbody>${of.teams.map(one=>lib_core$html`<tr key=${one.id}><td class="cell-cut"><bdi>${one.
team}</bdi>${one.old.bytes>0&&lib_core$html` <span class="muted">${i18n$t("disk.old",{size:format$size(one.old.bytes)})}</span>`}<span class="cell-sub">${i18n$t(
"disk.nEmails",{n:one.emails})}</span></td><td class="num">${format$size(one.bytes)}</td><td class="num hide-s">${format$number(one.emails)}</td><td class="hide-s muted">${kept(
one)}</td><td class="hide-s"><${Share} of=${one.bytes/teams} /></td></tr>`)}</tbody></table><//>`}
	${of.tables.length>0&&lib_core$html`<${ui_base$Section} title=${i18n$t("disk.tables")}><table class="table table--fixed"><thead><tr><th scope="col">${i18n$t("d\
isk.table")}</th><th scope="col" class="num w-num">${i18n$t("disk.size")}</th><th scope="col" class="hide-s w-team">${i18n$t("disk.share")}</th></tr></thead><tbody>${(all?
of.tables:of.tables.slice(0,12)).map(one=>lib_core$html`<tr key=${one.table}><td class="cell-cut mono t12">${one.table}</td><td class="num">${format$size(one.bytes)}</td><td class="hide-s"><${Share} of=${one.
bytes/tables} /></td></tr>`)}</tbody></table>${!all&&of.tables.length>12&&lib_core$html`<div class="table-foot"><${ui_base$Button} onClick=${()=>setAll(!0)}>${i18n$t(
"disk.allTables",{n:of.tables.length})}<//></div>`}<//>`}`}var kept=one=>{let word=span=>span==="0"?i18n$t("disk.forever"):span;return one.keep_content===one.keep_emails?
word(one.keep_emails):i18n$t("disk.keptBoth",{content:word(one.keep_content),emails:word(one.keep_emails)})},Share=({of})=>lib_core$html`<span class="row"><svg class="meter grow" aria-hidden="true" preserveAspectRatio="none"><rect class="meter-ground" width="100%" height="4" rx="2" /><rect class="meter-fill" width=${`${(of*
100).toFixed(1)}%`} height="4" rx="2" /></svg><span class="muted t12 num share-num">${format$percent(of,0)}</span></span>`;export{Disk as default};
