import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{imports$ImportStatus,imports$default,imports$looks}from"./shared.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";function Import({params}){let path=paths$encoded`/contacts/imports/${params.id}`,mine=e=>e.name==="import"&&(!e.id||e.id===params.id),got=api$useGet(path,void 0,
{live:mine}),list=api$useList(`${path}/errors`,{},{live:mine}),one=got.data,trail=[[i18n$t("imports.title"),router$href("/imports")]];if(got.error&&!one)return lib_core$html`<${ui_base$Head} title=${i18n$t(
"imports.one")} path=${trail} /><${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!one)return lib_core$html`<${ui_base$Head} title="" text=${i18n$t(
"imports.one")} path=${trail} /><${ui_base$Bones} />`;let over=one.status==="completed"||one.status==="failed",remove=async()=>{await ui_float$confirm({title:i18n$t(
over?"imports.removeTitle":"imports.cancelTitle"),text:i18n$t(over?"imports.removeText":"imports.cancelText",{n:one.counts.created+one.counts.updated}),act:i18n$t(
over?"imports.remove":"imports.cancel")})&&await ui_float$attempt(()=>api$api.del(path),i18n$t(over?"imports.removed":"imports.canceled"))&&router$go("/imports",
{replace:!0})},c=one.counts;return lib_core$html`<${ui_base$Head} title=${one.file_name?lib_core$html`<bdi>${one.file_name}</bdi>`:i18n$say("imports.of",{time:lib_core$html`<${ui_base$Time} at=${one.
created_at} as="clock" />`})} text=${one.file_name??i18n$t("imports.one")} path=${trail}><${ui_base$Button} kind="danger" onClick=${remove}>${i18n$t(over?"impor\
ts.remove":"imports.cancel")}<//><//>
	<${ui_base$Verdict} kind=${one.status==="failed"?"bad":over?c.failed?"warn":"good":""} icon=${over?void 0:"info"} line=${sentence(one)} fix=${one.error??(c.failed>
0?i18n$t("imports.fix"):void 0)} />
	<div class="page"><div class="stats">${["created","updated","skipped","failed"].map(count=>lib_core$html`<div class="stat"><div class="stat-label">${i18n$t(`im\
ports.${count}Rows`)}</div><div class=${`stat-value ${count==="failed"&&c.failed?"bad":""}`}>${format$number(c[count])}</div><div class="stat-note">${i18n$t(`im\
ports.${count}Note`)}</div></div>`)}</div>
		<section class="section"><${ui_base$Facts} pairs=${[[i18n$t("imports.status"),lib_core$html`<${imports$ImportStatus} of=${one.status} />`],[i18n$t("imports.to\
talRows"),format$number(c.total)],[i18n$t("imports.begun"),lib_core$html`<${ui_base$Time} at=${one.created_at} as="clock" />`],[i18n$t("imports.took"),one.completed_at&&
format$duration((new Date(one.completed_at).getTime()-new Date(one.created_at).getTime())/1e3)],[i18n$t("contact.id"),lib_core$html`<${ui_base$Id} of=${one.id} />`],
...one.consent.map(column=>[lib_core$html`<bdi>${column.column}</bdi>`,i18n$t(`imports.${readAs[column.sense]??"consentAgreed"}`)])]} /></section></div>
	<div class="tools"><h2 class="grow">${i18n$t("imports.errors")}</h2>${c.failed>0&&lib_core$html`<${ui_list$Csv} path=${`${path}/errors`} name="import-errors" />`}</div>
	<${ui_list$Table} list=${list} label=${i18n$t("imports.errors")} empty=${lib_core$html`<${ui_base$Empty} icon="check" title=${i18n$t(over?"imports.noErrors":"i\
mports.noErrorsYet")} />`} columns=${[{name:i18n$t("imports.line"),class:"w-num num",cell:row=>format$number(row.line)},{name:i18n$t("imports.why"),class:"cell-\
name break",cell:row=>lib_core$html`<bdi>${row.message}</bdi>${row.value&&lib_core$html`<span class="cell-sub"><bdi>${row.value}</bdi></span>`}`},{name:i18n$t("\
imports.value"),class:"cell-cut w-to hide-s",cell:row=>row.value&&lib_core$html`<bdi class="muted" title=${row.value}>${row.value}</bdi>`}]} />
	${c.failed>1e4&&lib_core$html`<p class="table-foot">${i18n$t("imports.errorsCut")}</p>`}`}var readAs={refused:"consentRefused",reason:"consentRefused",bounced:"\
consentBounced",complaint:"consentBounced",status:"consentStatus",hint:"consentStatus"};function sentence(one){let c=one.counts;return one.status==="queued"?i18n$t(
"imports.lineQueued"):one.status==="in_progress"?i18n$t("imports.lineRunning",{n:c.total}):one.status==="failed"?i18n$t("imports.lineFailed",{n:c.total}):c.failed?
i18n$t("imports.lineSome",{n:c.failed,total:c.total}):i18n$t("imports.lineAll",{n:c.total})}export{Import as default};
