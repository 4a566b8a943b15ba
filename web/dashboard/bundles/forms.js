import{forms$default,forms$rateOf,forms$removeForm}from"./shared.js";export{forms$default as default,forms$rateOf as rateOf,forms$removeForm as removeForm};
