// Opens the dialog on what is sent to a model's server, from any component of the page.
import { onChange, signal } from "/static/studio/view.js";

const asked = signal(0); // how often it was asked for

export const openSendDialog = () => asked.value++;
export const onSendDialog = (element, callback) => onChange(element, () => asked.value, callback);
