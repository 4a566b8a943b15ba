import{opt_ins$OptInState,opt_ins$OptIns,opt_ins$default}from"./shared.js";export{opt_ins$OptInState as OptInState,opt_ins$OptIns as OptIns,opt_ins$default as default};
