"""Can the bias be estimated here, at what price, and with which evaluations?"""
