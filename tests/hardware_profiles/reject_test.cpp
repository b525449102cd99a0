int unused_reject_test = 0;
