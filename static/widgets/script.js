// Asks for what Gradio's own components show, whenever the page's channel says so. See components/page_frame.py.
import { takeWidgets, widgetsShown } from "/static/studio/channel.js";

export default function mount({ trigger }) {
  takeWidgets(trigger);
  return widgetsShown;
}
